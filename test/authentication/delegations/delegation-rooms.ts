// Delegations and trusted issuers wired for real beside agents and tokens, over one database.
import { wireDelegationExpiry, wireDelegations } from '../../../src/authentication/delegations/wire.ts';
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
  const delegations = wireDelegations(platform, rooms);
  const delegationExpiry = wireDelegationExpiry(platform, { ...rooms, ...delegations });
  const trustedIssuers = wireTrustedIssuers(platform, rooms, 1_000);
  return {
    ...rooms,
    ...delegations,
    ...trustedIssuers,
    platform,
    delegationExpiry,
    routes: [rooms, delegations, trustedIssuers].flatMap(({ routes }) => routes),
  };
}
