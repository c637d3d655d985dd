// Wires challenges: authentication, and the records of failures.
import { createBruteForceService } from '../../audit/brute-force.service.ts';
import type { FailureLimits } from '../../platform/http/wire.ts';
import type { Platform } from '../../platform/platform.ts';
import {
  type AuthenticationFailureNeeds,
  createAuthenticationFailureService,
} from './authentication-failure.service.ts';
import { countChallenges } from './challenge.metrics.ts';
import { type ChallengeNeeds, createChallengeService } from './challenge.service.ts';
import { createRedemptionService, type RedemptionNeeds } from './redemption.service.ts';

/** Wires the records of failed authentications. The refresh of tokens uses them too. */
export function wireAuthenticationFailures(
  { config, database }: Platform,
  { limits, records }: Pick<AuthenticationFailureNeeds, 'records'> & FailureLimits,
) {
  const limit = config.rateLimit.fingerprintFailures;
  return createAuthenticationFailureService({
    records,
    database,
    limiter: limits.limitFailures('fingerprint', limit),
    bruteForce: createBruteForceService({ database, limit }),
  });
}

export function wireChallenges(
  { config, database, registry, clock }: Platform,
  rooms: Omit<ChallengeNeeds, 'database' | 'redemptions' | 'challengeLifetime' | 'now'> &
    Omit<RedemptionNeeds, 'database'>,
) {
  const challenges = createChallengeService({
    ...rooms,
    database,
    redemptions: createRedemptionService({ ...rooms, database }),
    challengeLifetime: config.challengeLifetime,
    now: clock.now,
  });
  return countChallenges(challenges, { registry });
}
