// SQL of the outbox of entity workflows. A row says which entity to look at, and nothing of what happened to it.
import type { Queryable } from '../database/transaction.ts';
import { ENTITY_WORKFLOW_TYPES, type EntityWorkflow } from './names.ts';

/** Asks that the workflow of this entity runs, and looks at the entity again. */
export type WorkflowCommand = {
  readonly tenantId: string;
  readonly workflow: EntityWorkflow;
  readonly entityId: string;
};

/** A command as one worker holds it. */
export type ClaimedCommand = WorkflowCommand & { readonly id: string };

/**
 * A claim is a lease: when its worker dies, the others take the command. Only of types that this version knows: what a newer version has
 * written is for that version's workers.
 */
const CLAIM = `
UPDATE workflow_commands SET tries = tries + 1, claimable_at = now() + $2::float8 * interval '1 millisecond'
WHERE id IN (
  SELECT id FROM workflow_commands WHERE claimable_at <= now() AND workflow = ANY($3::text[])
  ORDER BY claimable_at, id LIMIT $1 FOR UPDATE SKIP LOCKED)
RETURNING id, tenant_id AS "tenantId", workflow, entity_id AS "entityId"`;

// Half of what a runner takes at once is due now, the others 100 a second: fewer than one runner hands over. Their age counts from then on.
const INSERT = `
INSERT INTO workflow_commands (tenant_id, workflow, entity_id, claimable_at, created_at)
SELECT tenant_id, workflow, entity_id, due, due
FROM unnest($1::uuid[], $2::text[], $3::uuid[]) WITH ORDINALITY AS w (tenant_id, workflow, entity_id, n)
CROSS JOIN LATERAL (SELECT now() + greatest(0, n - 32) * interval '10 milliseconds' AS due) AS paced`;

const POSTPONE = `
UPDATE workflow_commands SET claimable_at = now() + least($2, 100 * power(2, least(tries, 20))) * interval '1 millisecond'
WHERE id = ANY($1::uuid[])`;

/** Commands for one type of workflow that wait, and the age of the oldest in seconds. */
export type WaitingCommands = {
  readonly workflow: string;
  readonly count: number;
  readonly seconds: number;
};

/** Inserts commands in one statement. Of many the last ones are due later, so that what others ask for meanwhile is not behind them. */
export async function insert(unit: Queryable, commands: readonly WorkflowCommand[]): Promise<void> {
  await unit.query(INSERT, [
    commands.map(({ tenantId }) => tenantId),
    commands.map(({ workflow }) => workflow),
    commands.map(({ entityId }) => entityId),
  ]);
}

/** Whether a command for this entity waits to be handed over. */
export async function isWaiting(queryable: Queryable, command: WorkflowCommand): Promise<boolean> {
  const { rowCount } = await queryable.query(
    'SELECT 1 FROM workflow_commands WHERE tenant_id = $1 AND workflow = $2 AND entity_id = $3 LIMIT 1',
    [command.tenantId, command.workflow, command.entityId],
  );
  return rowCount > 0;
}

/** Commands that wait for longer than `ageMs`: how many, and since when the oldest. */
export async function findStuck(
  queryable: Queryable,
  ageMs: number,
): Promise<{ count: number; oldest: Date | null }> {
  const { rows } = await queryable.query<{ count: number; oldest: Date | null }>(
    `SELECT count(*)::int AS count, min(created_at) AS oldest FROM workflow_commands
         WHERE created_at < now() - $1::float8 * interval '1 millisecond'`,
    [ageMs],
  );
  return rows[0] ?? { count: 0, oldest: null };
}

/** Takes what is due for `lease` milliseconds, the oldest first, at most `limit`. */
export async function claim(
  queryable: Queryable,
  { limit, lease }: { limit: number; lease: number },
): Promise<ClaimedCommand[]> {
  return (await queryable.query<ClaimedCommand>(CLAIM, [limit, lease, ENTITY_WORKFLOW_TYPES])).rows;
}

/** Counts what waits, by workflow. */
export async function waiting(queryable: Queryable): Promise<WaitingCommands[]> {
  return (
    await queryable.query<WaitingCommands>(
      `SELECT workflow, count(*)::float8 AS count, greatest(0, extract(epoch FROM now() - min(created_at)))::float8 AS seconds
           FROM workflow_commands GROUP BY workflow`,
    )
  ).rows;
}

/** Deletes what was handed over. */
export async function remove(queryable: Queryable, ids: readonly string[]): Promise<void> {
  await queryable.query('DELETE FROM workflow_commands WHERE id = ANY($1::uuid[])', [ids]);
}

/** Gives back what could not be handed over; each further try waits twice as long, up to `longest` milliseconds. */
export async function postpone(queryable: Queryable, ids: readonly string[], longest: number): Promise<void> {
  await queryable.query(POSTPONE, [ids, longest]);
}
