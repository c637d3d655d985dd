// Token exchange wired for real beside delegations, trusted issuers and tokens, over one database; keys of issuers come
// over a socket.

import { TokenExchangeService } from '../../../src/authentication/token-exchange/token-exchange.service.ts';
import { wireTokenEndpoint } from '../../../src/authentication/tokens/wire.ts';
import { wireWorkloadIssuers } from '../../../src/authentication/workload-issuers/wire.ts';
import { TOKEN_EXCHANGE_GRANT } from '../../../src/identity/applications/application.ts';
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
  const limits = wireLimits(platform);
  const workloads = wireWorkloadIssuers(platform, { ...rooms, limits });
  const { accessTokenLifetime } = platform.config;
  const { grant } = new TokenExchangeService({ ...rooms, accessTokenLifetime, now: platform.clock.now });
  const grants = [[TOKEN_EXCHANGE_GRANT, grant] as const, workloads.workloadGrant];
  return {
    ...rooms,
    ...workloads,
    tokenEndpoint: wireTokenEndpoint(platform, { ...rooms, grants }),
    closeExchange: async () => {
      await workloads.closeWorkloads();
      await rooms.closeTrustedIssuers();
    },
  };
}
