// The activities of challengeExpiry. Each calls one use case with a heartbeat. A repeated call counts no challenge
// twice.
import { Context } from '@temporalio/activity';
import type { ExpiryService, Pulse } from '../src/authentication/challenges/challenge-expiry.service.ts';
import type {
  Bucket,
  OperatorRequest,
  SettleResult,
  SweepResult,
} from '../src/authentication/challenges/challenge-expiry.ts';

export function createChallengeExpiryActivities({
  challengeExpiry,
}: {
  challengeExpiry: Pick<ExpiryService, 'sweep' | 'settle'>;
}) {
  return {
    /** Marks overdue challenges for some seconds. */
    sweepChallenges: (): Promise<SweepResult> => challengeExpiry.sweep(currentPulse()),

    auditExpiredChallenges: (bucket: Bucket, asked: OperatorRequest | null): Promise<SettleResult> =>
      challengeExpiry.settle(bucket, asked ?? undefined, currentPulse()),
  };
}

export type ChallengeExpiryActivities = ReturnType<typeof createChallengeExpiryActivities>;

function currentPulse(): Pulse {
  const { heartbeat, cancellationSignal } = Context.current();
  return { heartbeat: () => heartbeat(), signal: cancellationSignal };
}
