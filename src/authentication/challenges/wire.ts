// Wires challenges: authentication, the records of failures, and the start of the sweeps of overdue challenges.
import type { Client } from '@temporalio/client';
import { createBruteForceService } from '../../audit/brute-force.service.ts';
import type { FailureLimits } from '../../platform/http/wire.ts';
import { reasonOf } from '../../platform/logging.ts';
import type { Platform } from '../../platform/platform.ts';
import {
  type AuthenticationFailureNeeds,
  createAuthenticationFailureService,
} from './authentication-failure.service.ts';
import { countChallenges } from './challenge.metrics.ts';
import { type ChallengeNeeds, createChallengeService } from './challenge.service.ts';
import { createExpiryKeeper } from './challenge-expiry.client.ts';
import type { ExpiryService } from './challenge-expiry.service.ts';
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

/** Wires the start of each sweep's workflow. @param rooms.client starts workflows */
export function wireExpiryKeeper(
  { log }: Platform,
  rooms: { client: Client; expiry: Pick<ExpiryService, 'readClock'> },
) {
  return createExpiryKeeper({
    ...rooms,
    onFailure: (error) =>
      log.warn(
        { event: 'challenge_expiry.failed', reason: reasonOf(error) },
        'challenges wait for their sweep; trying again',
      ),
  });
}
