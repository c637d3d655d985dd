// Wires challenges: authentication, and the records of failures.
import { BruteForceService } from '../../audit/brute-force.service.ts';
import type { FailureLimits } from '../../platform/http/wire.ts';
import type { Platform } from '../../platform/opening/platform.ts';
import {
  type AuthenticationFailureNeeds,
  AuthenticationFailureService,
} from './authentication-failure.service.ts';
import { countChallenges } from './challenge.metrics.ts';
import { type ChallengeNeeds, ChallengeService } from './challenge.service.ts';
import { type RedemptionNeeds, RedemptionService } from './redemption.service.ts';

/** Wires the records of failed authentications. The refresh of tokens uses them too. */
export function wireAuthenticationFailures(
  { config, database }: Platform,
  { limits, records }: Pick<AuthenticationFailureNeeds, 'records'> & FailureLimits,
) {
  const limit = config.rateLimit.fingerprintFailures;
  return new AuthenticationFailureService({
    records,
    database,
    limiter: limits.limitFailures('fingerprint', limit),
    bruteForce: new BruteForceService({ database, limit }),
  });
}

export function wireChallenges(
  { config, database, registry, clock }: Platform,
  rooms: Omit<ChallengeNeeds, 'database' | 'redemptions' | 'challengeLifetime' | 'now'> &
    Omit<RedemptionNeeds, 'database'>,
) {
  const challenges = new ChallengeService({
    ...rooms,
    database,
    redemptions: new RedemptionService({ ...rooms, database }),
    challengeLifetime: config.challengeLifetime,
    now: clock.now,
  });
  return countChallenges(challenges, { registry });
}
