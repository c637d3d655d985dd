// Workload issuers wired for real beside agents and tokens, over one database; keys of issuers come over a socket.
import { wireTokenEndpoint } from '../../../src/authentication/tokens/wire.ts';
import { wireWorkloadIssuers } from '../../../src/authentication/workload-issuers/wire.ts';
import { createWorkloadIssuerRoutes } from '../../../src/authentication/workload-issuers/workload-issuer.routes.ts';
import type { Database } from '../../../src/platform/database/database.ts';
import { wireLimits } from '../../../src/platform/http/wire.ts';
import { createTestPlatform } from '../../setup/platform.ts';
import { createDelegationRooms } from '../delegations/delegation-rooms.ts';
import type { createAccounts } from '../tokens/accounts.ts';

export type WorkloadRooms = ReturnType<typeof createWorkloadRooms>;

/**
 * Wires the rooms; the token endpoint has the grant.
 * @param options.clientFailures refusals allowed a minute; 0: any number
 */
export function createWorkloadRooms(
  database: Database,
  {
    clientFailures = 0,
    ...options
  }: { accounts?: ReturnType<typeof createAccounts>; clientFailures?: number } = {},
) {
  const rooms = createDelegationRooms(database, options);
  const platform = createTestPlatform(database, {
    ...rooms.platform,
    config: { ...rooms.platform.config, rateLimit: { clientFailures } },
  });
  const workloads = wireWorkloadIssuers(platform, { ...rooms, limits: wireLimits(platform) });
  return {
    ...rooms,
    ...workloads,
    tokenEndpoint: wireTokenEndpoint(platform, { ...rooms, grants: [workloads.workloadGrant] }),
    routes: [...rooms.routes, ...createWorkloadIssuerRoutes(workloads)],
    closeWorkloads: async () => {
      await workloads.closeWorkloads();
      await rooms.closeTrustedIssuers();
    },
  };
}
