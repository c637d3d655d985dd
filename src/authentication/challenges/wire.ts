// Wires challenges: authentication, the records of failures, and the sweep of overdue challenges.
import type { Client } from '@temporalio/client';
import { createBruteForceService } from '../../audit/brute-force.service.ts';
import type { Limits } from '../../platform/http/wire.ts';
import { reasonOf } from '../../platform/logging.ts';
import type { Needs, Platform } from '../../platform/platform.ts';
import { createAuthenticationFailureService } from './authentication-failure.service.ts';
import { countChallenges } from './challenge.metrics.ts';
import { createChallengeRoutes } from './challenge.routes.ts';
import { createChallengeService } from './challenge.service.ts';
import * as challengeStore from './challenge.store.ts';
import { createExpiryKeeper } from './challenge-expiry.client.ts';
import { createExpiryService } from './challenge-expiry.service.ts';
import { createRedemptionService } from './redemption.service.ts';

/** Wires the records of failed authentications. The refresh of tokens uses them too. */
export function wireAuthenticationFailures(
  { config, database }: Platform,
  {
    limits,
    ...rooms
  }: Needs<typeof createAuthenticationFailureService, 'database' | 'limiter' | 'bruteForce'> & {
    limits: Pick<Limits, 'limitFailures'>;
  },
) {
  const limit = config.rateLimit.fingerprintFailures;
  return createAuthenticationFailureService({
    ...rooms,
    database,
    limiter: limits.limitFailures('fingerprint', limit),
    bruteForce: createBruteForceService({ database, limit }),
  });
}

export function wireChallenges(
  { config, database, registry, clock }: Platform,
  rooms: Needs<typeof createChallengeService, 'database' | 'redemptions' | 'challengeLifetime' | 'now'> &
    Needs<typeof createRedemptionService, 'database'> &
    Pick<Parameters<typeof createChallengeRoutes>[0], 'dpop'>,
) {
  const challenges = createChallengeService({
    ...rooms,
    database,
    redemptions: createRedemptionService({ ...rooms, database }),
    challengeLifetime: config.challengeLifetime,
    now: clock.now,
  });
  return {
    challenges,
    routes: createChallengeRoutes({ ...rooms, challenges: countChallenges(challenges, { registry }) }),
  };
}

/** Wires the sweep of overdue challenges. */
export function wireChallengeExpiry(
  { database }: Platform,
  rooms: Needs<typeof createExpiryService, 'database' | 'settings'>,
) {
  return createExpiryService({ ...rooms, database });
}

/** Wires the start of each sweep's workflow. @param rooms.client starts workflows */
export function wireExpiryKeeper(
  { log }: Platform,
  rooms: { client: Client } & Pick<Parameters<typeof createExpiryKeeper>[0], 'expiry'>,
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

/** Purge of old challenges. Retention runs it. */
export const purgesOfChallenges = { challenges: challengeStore.purge };
