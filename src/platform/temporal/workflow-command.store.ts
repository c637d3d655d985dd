// SQL of the outbox of entity workflows. A row has the ids of an entity, not the change.
// docs/decisions/0011-entity-workflows.md
import { countBreaches } from '../database/breach.ts';
import { changed, done, many } from '../database/statements.ts';
import { batchOf } from '../database/table.ts';
import type { Queryable } from '../database/transaction.ts';
import { ENTITY_WORKFLOW_TYPES, type EntityWorkflow } from './names.ts';
import { WORKFLOW_COMMAND } from './workflow-command.model.ts';

/** A command: the workflow of this entity must run and read its entity again. */
export type WorkflowCommand = {
  readonly tenantId: string;
  readonly workflow: EntityWorkflow;
  readonly entityId: string;
};

export type ClaimedCommand = WorkflowCommand & { readonly id: string };

const claimDue = many<
  ClaimedCommand,
  [limit: number, leaseMs: number, workflows: readonly EntityWorkflow[]]
>(`
UPDATE workflow_commands SET tries = tries + 1, claimable_at = now() + $2::float8 * interval '1 millisecond'
WHERE id IN (
  SELECT id FROM workflow_commands WHERE claimable_at <= now() AND workflow = ANY($3::text[])
  ORDER BY claimable_at, id LIMIT $1 FOR UPDATE SKIP LOCKED)
RETURNING id, tenant_id, workflow, entity_id`);

/**
 * Claims at most `limit` due commands for `lease` milliseconds, the oldest first. A claim is a lease: when its worker
 * dies, another worker claims the command. Commands for types of workflow that this version does not know are left to
 * workers of the newer version.
 */
export const claim = (queryable: Queryable, { limit, lease }: { limit: number; lease: number }) =>
  claimDue(queryable, limit, lease, ENTITY_WORKFLOW_TYPES);

const ROWS = batchOf(WORKFLOW_COMMAND, ['tenantId', 'workflow', 'entityId']);

// Half of the commands that a runner claims in one run are due now; the others become due at 100 a second, which is
// slower than one runner. Their age counts from the time when they are due.
const insertAll = done<unknown[]>(`
INSERT INTO workflow_commands (tenant_id, workflow, entity_id, claimable_at, created_at)
SELECT tenant_id, workflow, entity_id, due, due
FROM unnest($1::uuid[], $2::text[], $3::uuid[]) WITH ORDINALITY AS w (tenant_id, workflow, entity_id, n)
CROSS JOIN LATERAL (SELECT now() + greatest(0, n - 32) * interval '10 milliseconds' AS due) AS paced`);

/**
 * Inserts commands in one statement. The last of many commands become due later, so that they do not delay the commands
 * of other requests.
 */
export const insert = (unit: Queryable, commands: readonly WorkflowCommand[]): Promise<void> =>
  insertAll(unit, ...ROWS.of(commands));

const waitingOne = changed<[tenantId: string, workflow: EntityWorkflow, entityId: string]>(
  'SELECT 1 FROM workflow_commands WHERE tenant_id = $1 AND workflow = $2 AND entity_id = $3 LIMIT 1',
);

/** True while a command for this entity waits for its hand-over. */
export const isWaiting = (queryable: Queryable, { tenantId, workflow, entityId }: WorkflowCommand) =>
  waitingOne(queryable, tenantId, workflow, entityId);

/** Commands that wait for their hand-over, by the time when they were due. */
export const findStuck = countBreaches('created_at', 'FROM workflow_commands');

/** The waiting commands of one type of workflow. */
export type WaitingCommands = { readonly workflow: EntityWorkflow; readonly count: number };

/** Counts the waiting commands by type of workflow. */
export const waiting = many<WaitingCommands>(
  'SELECT workflow, count(*)::float8 AS count FROM workflow_commands GROUP BY workflow',
);

/** Deletes commands after their hand-over. */
export const remove = done<[ids: readonly string[]]>(
  'DELETE FROM workflow_commands WHERE id = ANY($1::uuid[])',
);

/**
 * Releases commands after a failed hand-over. Each try waits twice as long as the last, up to `longest` milliseconds.
 */
export const postpone = done<[ids: readonly string[], longest: number]>(`
UPDATE workflow_commands SET claimable_at = now() + least($2, 100 * power(2, least(tries, 20))) * interval '1 millisecond'
WHERE id = ANY($1::uuid[])`);
