// Delegations and trusted issuers wired for real beside agents and tokens, over one database.
import { composeDelegationExpiry, composeDelegations } from '../../../src/app/wiring/compose-delegations.ts';
import { createDelegationRoutes } from '../../../src/authentication/delegations/delegation.routes.ts';
import { createTrustedIssuerRoutes } from '../../../src/authentication/trusted-issuers/trusted-issuer.routes.ts';
import { createTrustedIssuerService } from '../../../src/authentication/trusted-issuers/trusted-issuer.service.ts';
import { createEventService } from '../../../src/events/event.service.ts';
import type { Database } from '../../../src/platform/database/database.ts';
import { parseNetworks } from '../../../src/platform/egress/address-rules.ts';
import { createWorkflowCommandService } from '../../../src/platform/temporal/workflow-command.service.ts';
import { createRooms } from '../../identity/agents/agent-rooms.ts';
import type { createAccounts } from '../tokens/accounts.ts';

export type DelegationRooms = ReturnType<typeof createDelegationRooms>;

/** @param options.allowedNetworks CIDR blocks beside public addresses for JWK sets; loopback unless said */
export function createDelegationRooms(
  database: Database,
  options: { allowedNetworks?: string[]; accounts?: ReturnType<typeof createAccounts> } = {},
) {
  const { accounts } = options;
  const rooms = createRooms(database, accounts === undefined ? {} : { accounts });
  const { audit, agents } = rooms;
  const events = createEventService({ notifier: { poke: () => undefined } });
  const commands = createWorkflowCommandService();
  const parts = { ...rooms, database, audit, events, agents, commands };
  const delegations = composeDelegations(parts);
  const delegationExpiry = composeDelegationExpiry(parts);
  const trustedIssuers = createTrustedIssuerService({
    database,
    audit,
    admittedNetworks: parseNetworks(options.allowedNetworks ?? ['127.0.0.0/8']),
  });
  const routes = [
    ...rooms.routes,
    ...createDelegationRoutes({ delegations }),
    ...createTrustedIssuerRoutes({ trustedIssuers }),
  ];
  return { ...rooms, delegations, delegationExpiry, trustedIssuers, routes };
}
