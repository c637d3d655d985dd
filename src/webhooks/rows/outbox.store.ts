// SQL that removes rows of the outbox without work, adds missing ones, and enqueues commands for workflows.
import { changed, counted, value } from '../../platform/database/statements.ts';
import { LEFT, UNWOKEN } from './leftovers.ts';
import { enqueue, RANK_OF_RETRY } from './outbox.ts';

/**
 * Enqueues a command for the workflow of a delivery that has ended: the workflow reads the row and ends.
 * @returns false when no workflow is known, or the delivery is unfinished
 */
export const callWorkflow = changed<[deliveryId: string]>(
  enqueue({
    kind: `'command'`,
    command: `'cancel'`,
    generation: 'started_generation',
    from: `deliveries WHERE id = $1 AND started_generation IS NOT NULL AND status NOT IN ('pending', 'retrying')`,
  }),
);

/**
 * Removes outbox rows of ended deliveries of deleted subscriptions: no relay reads the rows of a closed endpoint, and a
 * deleted one stays closed. The workflow of a wake-up still waits for it, so the row becomes a command.
 * @returns how many, at most `limit`
 */
export const removeLeft = value<number, [limit: number]>(`
WITH remaining AS (
  SELECT o.id, o.kind ${LEFT} LIMIT $1 FOR UPDATE OF o SKIP LOCKED
), commands AS (
  UPDATE outbox o SET kind = 'command', command = 'cancel' FROM remaining r WHERE o.id = r.id AND r.kind = 'wake'
), removed AS (
  DELETE FROM outbox o USING remaining r WHERE o.id = r.id AND r.kind <> 'wake'
)
SELECT count(*)::int AS removed FROM remaining`);

/** Enqueues missing outbox rows of deliveries that wait for an open endpoint. @returns how many, at most `limit` */
export const mendParked = counted<[limit: number]>(
  enqueue({
    kind: `'wake'`,
    rank: RANK_OF_RETRY,
    from: `(SELECT d.id, d.tenant_id, d.subscription_id, d.generation ${UNWOKEN} LIMIT $1) AS unwoken`,
  }),
);

/** Deletes unclaimed outbox rows of deliveries that are older than `days`. @returns how many, at most `limit` */
export const purgeWork = counted<[days: number, limit: number]>(`
DELETE FROM outbox WHERE id IN (
  SELECT id FROM outbox
  WHERE delivery_id < uuid_of_time(((now() AT TIME ZONE 'UTC')::date - $1::int)::timestamp AT TIME ZONE 'UTC')
    AND claimed_by IS NULL LIMIT $2 FOR UPDATE SKIP LOCKED)`);
