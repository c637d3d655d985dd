// The activities of challengeExpiry. Each calls one use case with a heartbeat. A repeated call counts no challenge
// twice.
import type { ExpiryService } from '../src/authentication/challenges/challenge-expiry.service.ts';
import type { Bucket, OperatorRequest } from '../src/authentication/challenges/challenge-expiry.ts';
import { currentPulse } from './pulse.ts';

export function createChallengeExpiryActivities({
  challengeExpiry,
}: {
  challengeExpiry: Pick<ExpiryService, 'sweep' | 'settle'>;
}) {
  return {
    /** Marks overdue challenges for some seconds. */
    sweepChallenges: () => challengeExpiry.sweep(currentPulse()),
    auditExpiredChallenges: (bucket: Bucket, asked: OperatorRequest | null) =>
      challengeExpiry.settle(bucket, asked ?? undefined, currentPulse()),
  };
}

export type ChallengeExpiryActivities = ReturnType<typeof createChallengeExpiryActivities>;
