// Token exchange wired for real beside delegations, trusted issuers and tokens, over one database; keys of issuers come
// over a socket.

import { wireTokenExchange } from '../../../src/authentication/token-exchange/wire.ts';
import { wireTokenEndpoint } from '../../../src/authentication/tokens/wire.ts';
import { wireWorkloadIssuers } from '../../../src/authentication/workload-issuers/wire.ts';
import type { Database } from '../../../src/platform/database/database.ts';
import { wireLimits } from '../../../src/platform/http/wire.ts';
import { createTestPlatform } from '../../setup/platform.ts';
import { createDelegationRooms } from '../delegations/delegation-rooms.ts';
import type { createAccounts } from '../tokens/accounts.ts';

export type ExchangeRooms = ReturnType<typeof createExchangeRooms>;

/** Wires the rooms; the token endpoint has the grant. Keys are fetched from loopback too. */
export function createExchangeRooms(
  database: Database,
  options: { accounts?: ReturnType<typeof createAccounts> } = {},
) {
  const rooms = createDelegationRooms(database, options);
  const platform = createTestPlatform(database, rooms.platform);
  const { workloadGrant, close } = wireWorkloadIssuers(platform, { ...rooms, limits: wireLimits(platform) });
  const grants = [wireTokenExchange(platform, rooms), workloadGrant];
  return {
    ...rooms,
    ...wireTokenEndpoint(platform, { ...rooms, grants }),
    routes: rooms.routes,
    closeExchange: async () => {
      await close();
      await rooms.close();
    },
  };
}
