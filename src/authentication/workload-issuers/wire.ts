// Wires workload issuers and the grant for their assertions.
import type { FailureLimits } from '../../platform/http/wire.ts';
import type { Platform } from '../../platform/opening/platform.ts';
import { JWT_BEARER_GRANT } from '../tokens/grant-types.ts';
import { createFetchNote } from '../trusted-issuers/fetch-note.service.ts';
import { IssuerKeyFinder, type IssuerKeyFinderNeeds } from '../trusted-issuers/issuer-key-finder.service.ts';
import { WorkloadFailureService } from './workload-failure.service.ts';
import { type WorkloadIssuerNeeds, WorkloadIssuerService } from './workload-issuer.service.ts';
import { type WorkloadTokenNeeds, WorkloadTokenService } from './workload-token.service.ts';

/** @param rooms.limits limits refused assertions as failures of clients */
export function wireWorkloadIssuers(
  { config, database, log, clock }: Platform,
  {
    limits,
    ...rooms
  }: Omit<WorkloadIssuerNeeds, 'database'> &
    Omit<WorkloadTokenNeeds, 'database' | 'trustedKeys' | 'workloadFailures' | 'now'> &
    Pick<IssuerKeyFinderNeeds, 'issuerKeySets'> &
    FailureLimits,
) {
  const failures = limits.limitFailures('workload', config.rateLimit.clientFailures);
  const workloadFailures = new WorkloadFailureService({ ...rooms, database, log, failures });
  const trustedKeys = new IssuerKeyFinder({
    ...rooms,
    noteFetch: createFetchNote('workload_issuer', { ...rooms, database }),
  });
  const { grant } = new WorkloadTokenService({
    ...rooms,
    database,
    trustedKeys,
    workloadFailures,
    now: clock.now,
  });
  return {
    workloadIssuers: new WorkloadIssuerService({ ...rooms, database }),
    workloadFailures,
    /** The grant with its `grant_type`. */
    workloadGrant: [JWT_BEARER_GRANT, grant] as const,
    closeWorkloads: () => workloadFailures.close(),
  };
}
