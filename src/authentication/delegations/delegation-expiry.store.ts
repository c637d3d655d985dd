// SQL of the ends of delegations. Each function is one round trip on the caller's connection. All times come from the
// database's clock.
import { countBreaches } from '../../platform/database/breach.ts';
import { done, one } from '../../platform/database/statements.ts';
import { enqueueCommands } from '../../platform/temporal/enqueued-commands.ts';
import { listBy } from '../../platform/temporal/expected-workflows.ts';
import type { DelegationCase } from './delegation-expiry.ts';

export type DelegationName = { readonly tenantId: string; readonly id: string };

const OPEN = `delegations delegation JOIN agents agent ON agent.id = delegation.agent_id
WHERE delegation.revoked_at IS NULL AND delegation.expired_at IS NULL AND agent.deleted_at IS NULL`;

export const read = one<DelegationCase, [tenantId: string, id: string]>(`
SELECT delegation.tenant_id, delegation.id, delegation.agent_id, delegation.scopes, delegation.expires_at, delegation.expired_at,
       coalesce(delegation.revoked_at, agent.deleted_at) AS revoked_at, now()::timestamptz(3) AS now
FROM delegations delegation JOIN agents agent ON agent.id = delegation.agent_id
WHERE delegation.tenant_id = $1 AND delegation.id = $2`);

/** Records the end of a delegation that the transaction has locked. */
export const markExpired = done<[id: string]>('UPDATE delegations SET expired_at = now() WHERE id = $1');

/** Enqueues signals to the workflows of all delegations of an agent that this transaction deletes. */
export const tellOfAgent = done<[agentId: string]>(
  enqueueCommands(
    'delegationExpiry',
    'delegations WHERE agent_id = $1 AND revoked_at IS NULL AND expired_at IS NULL',
  ),
);

/** Delegations that have expired and whose end is not recorded. */
export const findOverdue = countBreaches('delegation.expires_at', `FROM ${OPEN}`);

/** Lists the delegations whose workflow should be running: neither revoked nor recorded as expired. */
export const listExpectedWorkflows = listBy(
  `SELECT delegation.tenant_id, delegation.id AS entity_id FROM ${OPEN} AND delegation.id > $1
   ORDER BY delegation.id LIMIT $2`,
);
