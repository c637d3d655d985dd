// The activities of challengeExpiry. Each calls one use case with a heartbeat. A repeated call counts no challenge
// twice.
import type { ExpiryService } from '../src/authentication/challenges/challenge-expiry.service.ts';
import type { Bucket, SweepRequest } from '../src/authentication/challenges/challenge-expiry.ts';
import { forOperator } from './operator-request.ts';
import { currentPulse } from './pulse.ts';

export function createChallengeExpiryActivities({
  challengeExpiry,
}: {
  challengeExpiry: Pick<ExpiryService, 'sweep' | 'settle'>;
}) {
  return {
    /** Marks overdue challenges for some seconds. */
    sweepChallenges: () => challengeExpiry.sweep(currentPulse()),
    auditExpiredChallenges: (bucket: Bucket, asked: SweepRequest | null) =>
      asked === null
        ? challengeExpiry.settle(bucket, undefined, currentPulse())
        : forOperator(asked.reason, (request) => challengeExpiry.settle(bucket, request, currentPulse())),
  };
}

export type ChallengeExpiryActivities = ReturnType<typeof createChallengeExpiryActivities>;
