// Wires workload issuers and the grant for their assertions.
import type { Limits } from '../../platform/http/wire.ts';
import type { Needs, Platform } from '../../platform/platform.ts';
import { JWT_BEARER_GRANT } from '../tokens/grant-types.ts';
import { createWorkloadFailureService } from './workload-failure.service.ts';
import { createWorkloadIssuerRoutes } from './workload-issuer.routes.ts';
import { createWorkloadIssuerService } from './workload-issuer.service.ts';
import * as store from './workload-issuer.store.ts';
import { createWorkloadTokenService } from './workload-token.service.ts';

/** @param rooms.limits limits refused assertions as failures of clients */
export function wireWorkloadIssuers(
  { config, database, log, clock }: Platform,
  {
    limits,
    ...rooms
  }: Needs<typeof createWorkloadIssuerService, 'database'> &
    Needs<typeof createWorkloadTokenService, 'database' | 'workloadFailures' | 'now'> & {
      limits: Pick<Limits, 'limitFailures'>;
    },
) {
  const workloadIssuers = createWorkloadIssuerService({ ...rooms, database });
  const workloadFailures = createWorkloadFailureService({
    ...rooms,
    database,
    log,
    failures: limits.limitFailures('workload', config.rateLimit.clientFailures),
  });
  const { grant } = createWorkloadTokenService({ ...rooms, database, workloadFailures, now: clock.now });
  return {
    workloadIssuers,
    workloadFailures,
    /** The grant with its `grant_type`. */
    workloadGrant: [JWT_BEARER_GRANT, grant] as const,
    routes: createWorkloadIssuerRoutes({ workloadIssuers }),
    close: () => workloadFailures.close(),
  };
}

/** Where the keys of all tenants' workload issuers are. */
export const listWorkloadAddresses = ({ database }: Platform) => store.listAddresses(database);

/** Purge of used assertions. Retention runs it. */
export const purgesOfWorkloads = { 'workload assertions': store.purge };
