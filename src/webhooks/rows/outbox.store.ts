// SQL that removes rows of the outbox without work, adds missing ones, and enqueues commands for workflows.
import type { Queryable } from '../../platform/database/transaction.ts';
import { LEFT, UNWOKEN } from './leftovers.ts';
import { enqueue, RANK_OF_RETRY } from './outbox.ts';

const CALL_WORKFLOW = enqueue({
  kind: `'command'`,
  command: `'cancel'`,
  generation: 'started_generation',
  from: `deliveries WHERE id = $1 AND started_generation IS NOT NULL AND status NOT IN ('pending', 'retrying')`,
});

// No relay reads the rows of a closed endpoint, and a deleted one stays closed. The workflow of a wake-up still waits
// for it, so the row becomes a command.
const REMOVE_LEFT = `
WITH remaining AS (
  SELECT o.id, o.kind ${LEFT} LIMIT $1 FOR UPDATE OF o SKIP LOCKED
), commands AS (
  UPDATE outbox o SET kind = 'command', command = 'cancel' FROM remaining r WHERE o.id = r.id AND r.kind = 'wake'
), removed AS (
  DELETE FROM outbox o USING remaining r WHERE o.id = r.id AND r.kind <> 'wake'
)
SELECT count(*)::int AS removed FROM remaining`;

const MEND_PARKED = enqueue({
  kind: `'wake'`,
  rank: RANK_OF_RETRY,
  from: `(SELECT d.id, d.tenant_id, d.subscription_id, d.generation ${UNWOKEN} LIMIT $1) AS unwoken`,
});

/**
 * Enqueues a command for the workflow of a delivery that has ended: the workflow reads the row and ends.
 * @returns false when no workflow is known, or the delivery is unfinished
 */
export async function callWorkflow(queryable: Queryable, deliveryId: string): Promise<boolean> {
  return (await queryable.query(CALL_WORKFLOW, [deliveryId])).rowCount > 0;
}

/**
 * Removes outbox rows of ended deliveries of deleted subscriptions, or makes them commands.
 * @returns how many, at most `limit`
 */
export async function removeLeft(queryable: Queryable, limit: number): Promise<number> {
  return (await queryable.query<{ removed: number }>(REMOVE_LEFT, [limit])).rows[0]?.removed ?? 0;
}

/** Enqueues missing outbox rows of deliveries that wait for an open endpoint. @returns how many, at most `limit` */
export async function mendParked(queryable: Queryable, limit: number): Promise<number> {
  return (await queryable.query(MEND_PARKED, [limit])).rowCount;
}

/** Deletes unclaimed outbox rows of deliveries that are older than `days`. @returns how many, at most `limit` */
export async function purgeWork(queryable: Queryable, days: number, limit: number): Promise<number> {
  const { rowCount } = await queryable.query(
    `DELETE FROM outbox WHERE id IN (
       SELECT id FROM outbox
       WHERE delivery_id < uuid_of_time(((now() AT TIME ZONE 'UTC')::date - $1::int)::timestamp AT TIME ZONE 'UTC')
         AND claimed_by IS NULL LIMIT $2 FOR UPDATE SKIP LOCKED)`,
    [days, limit],
  );
  return rowCount;
}
