// SQL of the ends of delegations. Each function is one round trip on the caller's connection. All times come from the
// database's clock.
import { NOW } from '../../platform/database/model.ts';
import type { Queryable, Transaction } from '../../platform/database/transaction.ts';
import { enqueueCommands } from '../../platform/temporal/enqueued-commands.ts';
import { countBy, listBy } from '../../platform/temporal/expected-workflows.ts';
import { DELEGATION } from './delegation.model.ts';
import type { DelegationCase } from './delegation-expiry.ts';

export type DelegationName = { readonly tenantId: string; readonly id: string };

const READ = `
SELECT delegation.tenant_id AS "tenantId", delegation.id, delegation.agent_id AS "agentId", delegation.scopes,
       delegation.expires_at AS "expiresAt", delegation.expired_at AS "expiredAt",
       coalesce(delegation.revoked_at, agent.deleted_at) AS "revokedAt", now()::timestamptz(3) AS now
FROM delegations delegation JOIN agents agent ON agent.id = delegation.agent_id
WHERE delegation.tenant_id = $1 AND delegation.id = $2`;

const EXPECTED = `
SELECT delegation.tenant_id AS "tenantId", delegation.id AS "entityId"
FROM delegations delegation JOIN agents agent ON agent.id = delegation.agent_id
WHERE delegation.revoked_at IS NULL AND delegation.expired_at IS NULL AND agent.deleted_at IS NULL AND delegation.id > $1
ORDER BY delegation.id LIMIT $2`;

const OVERDUE = `
SELECT count(*)::int AS count FROM delegations delegation JOIN agents agent ON agent.id = delegation.agent_id
WHERE delegation.revoked_at IS NULL AND delegation.expired_at IS NULL AND agent.deleted_at IS NULL
  AND delegation.expires_at < now() - interval '5 minutes'`;

const TELL_OF_AGENT = enqueueCommands(
  'delegationExpiry',
  'delegations WHERE agent_id = $1 AND revoked_at IS NULL AND expired_at IS NULL',
);

export async function read(
  queryable: Queryable,
  { tenantId, id }: DelegationName,
): Promise<DelegationCase | undefined> {
  return (await queryable.query<DelegationCase>(READ, [tenantId, id])).rows[0];
}

/** Records the end of a delegation that the transaction has locked. */
export async function markExpired(transaction: Transaction, id: string): Promise<void> {
  await transaction.model(DELEGATION).update({ id }, { expiredAt: NOW });
}

/** Enqueues signals to the workflows of all delegations of an agent that this transaction deletes. */
export async function tellOfAgent(unit: Transaction, agentId: string): Promise<void> {
  await unit.query(TELL_OF_AGENT, [agentId]);
}

/** Counts the delegations that expired more than 5 minutes ago and whose end is not recorded. */
export const countOverdue = countBy(OVERDUE);

/** Lists the delegations whose workflow should be running: neither revoked nor recorded as expired. */
export const listExpectedWorkflows = listBy(EXPECTED);
