// The wiring of delegations: as their tenants manage them, and, in a worker, their ends. Like compose.ts it must hold no rule.

import type { AuditService } from '../../audit/audit.service.ts';
import { createDelegationService } from '../../authentication/delegations/delegation.service.ts';
import { createDelegationExpiryService } from '../../authentication/delegations/delegation-expiry.service.ts';
import type { RevocationService } from '../../authentication/tokens/revocation.service.ts';
import type { EventService } from '../../events/event.service.ts';
import type { AgentService } from '../../identity/agents/agent.service.ts';
import type { TenantService } from '../../identity/tenants/tenant.service.ts';
import type { Database } from '../../platform/database/database.ts';
import type { WorkflowCommandService } from '../../platform/temporal/workflow-command.service.ts';

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
  return createDelegationService({ ...parts, tokens: revocations });
}

/** Wires the ends of delegations. */
export function composeDelegationExpiry({
  tenants,
  ...parts
}: Parts & { readonly tenants: Pick<TenantService, 'byId'> }) {
  return createDelegationExpiryService({
    database: parts.database,
    tenants,
    delegations: composeDelegations(parts),
    audit: parts.audit,
  });
}
