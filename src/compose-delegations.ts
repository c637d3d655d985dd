// The wiring of delegations: as their tenants manage them, and, in a worker, their ends. Like compose.ts it must hold no rule.
import type { AgentService } from './agents/agent.service.ts';
import type { AuditService } from './audit/audit.service.ts';
import type { Database } from './database/database.ts';
import { createDelegationService } from './delegations/delegation.service.ts';
import { createDelegationStore } from './delegations/delegation.store.ts';
import { createDelegationExpiryService } from './delegations/delegation-expiry.service.ts';
import { createDelegationExpiryStore } from './delegations/delegation-expiry.store.ts';
import type { EventService } from './events/event.service.ts';
import type { WorkflowCommandService } from './temporal/workflow-command.service.ts';
import type { TenantService } from './tenants/tenant.service.ts';
import type { RevocationService } from './tokens/revocation.service.ts';

type Parts = {
  readonly database: Database;
  readonly agents: AgentService;
  readonly audit: AuditService;
  readonly events: EventService;
  readonly revocations: Pick<RevocationService, 'endPrincipal'>;
  readonly commands: WorkflowCommandService;
};

/** Wires what tenants and exchanges do with delegations. */
export function composeDelegations({ revocations, ...parts }: Parts) {
  return createDelegationService({ ...parts, store: createDelegationStore(), tokens: revocations });
}

/** Wires the ends of delegations. */
export function composeDelegationExpiry({
  tenants,
  ...parts
}: Parts & { readonly tenants: Pick<TenantService, 'byId'> }) {
  return createDelegationExpiryService({
    store: createDelegationExpiryStore(),
    delegationStore: createDelegationStore(),
    database: parts.database,
    tenants,
    delegations: composeDelegations(parts),
    audit: parts.audit,
  });
}
