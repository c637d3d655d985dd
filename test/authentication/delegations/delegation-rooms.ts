// Delegations and trusted issuers wired for real beside agents and tokens, over one database.
import { createDelegationRoutes } from '../../../src/authentication/delegations/delegation.routes.ts';
import { createDelegationService } from '../../../src/authentication/delegations/delegation.service.ts';
import { createDelegationExpiryService } from '../../../src/authentication/delegations/delegation-expiry.service.ts';
import { createTrustedIssuerRoutes } from '../../../src/authentication/trusted-issuers/trusted-issuer.routes.ts';
import { wireTrustedIssuers } from '../../../src/authentication/trusted-issuers/wire.ts';
import type { Database } from '../../../src/platform/database/database.ts';
import { createRooms } from '../../identity/agents/agent-rooms.ts';
import { createTestPlatform } from '../../setup/platform.ts';
import type { createAccounts } from '../tokens/accounts.ts';

export type DelegationRooms = ReturnType<typeof createDelegationRooms>;

/** @param options.allowedNetworks CIDR blocks beside public addresses for JWK sets; loopback unless said */
export function createDelegationRooms(
  database: Database,
  {
    allowedNetworks = ['127.0.0.0/8'],
    ...options
  }: { allowedNetworks?: string[]; accounts?: ReturnType<typeof createAccounts> } = {},
) {
  const rooms = createRooms(database, options);
  const platform = createTestPlatform(database, {
    ...rooms.platform,
    config: { ...rooms.platform.config, webhookAllowedNetworks: allowedNetworks },
  });
  const delegations = createDelegationService({ ...rooms, tokens: rooms.revocations });
  const trustedIssuers = wireTrustedIssuers(platform, rooms, 1_000);
  return {
    ...rooms,
    ...trustedIssuers,
    platform,
    delegations,
    delegationExpiry: createDelegationExpiryService({ ...rooms, delegations }),
    routes: [
      ...rooms.routes,
      ...createDelegationRoutes({ delegations }),
      ...createTrustedIssuerRoutes(trustedIssuers),
    ],
  };
}
