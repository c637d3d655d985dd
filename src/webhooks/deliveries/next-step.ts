// Decides the step after an attempt. Pure: the clock stays in the database, the random number is a parameter.
import type { Outcome } from '../../platform/egress/outcome.ts';
import { nextDelay, type RetryPolicy } from '../subscriptions/retry-schedule.ts';

export type FailureReason = 'gone' | 'rejected' | 'exhausted';

/** `delayMs` counts from the record of the attempt. `failedAttempts` is the new position in the schedule. */
export type NextStep =
  | { kind: 'delivered' }
  | { kind: 'failed'; reason: FailureReason; failedAttempts: number }
  | { kind: 'retry'; delayMs: number; failedAttempts: number };

/**
 * Decides the step after an attempt. A 2xx ends the delivery. A 410 and the other final answers fail it. For any other
 * outcome the delivery waits by the schedule, and at least for `Retry-After`. A retry that a person requested while the
 * attempt was under way is due immediately, even after the last attempt of the schedule.
 * @param options.failedAttempts position in the schedule before this attempt
 * @param options.retryRequested a person requested a retry after this attempt had begun
 * @param options.probe the attempt was a probe of an endpoint that is down; its failure does not advance the schedule
 * @param options.random a number in [0, 1)
 */
export function nextStep({
  outcome,
  failedAttempts: before,
  policy,
  retryRequested,
  probe,
  random,
}: {
  outcome: Outcome;
  failedAttempts: number;
  policy: RetryPolicy;
  retryRequested: boolean;
  probe: boolean;
  random: number;
}): NextStep {
  if (outcome.kind === 'delivered') return { kind: 'delivered' };
  const failedAttempts = probe ? before : before + 1;
  if (retryRequested) return { kind: 'retry', delayMs: 0, failedAttempts };
  if (outcome.kind !== 'retry') return { kind: 'failed', reason: outcome.kind, failedAttempts };
  if (probe) return { kind: 'retry', delayMs: 0, failedAttempts };
  const delayMs = nextDelay({ policy, failedAttempts, retryAfterMs: outcome.retryAfterMs, random });
  return delayMs === 'exhausted'
    ? { kind: 'failed', reason: 'exhausted', failedAttempts }
    : { kind: 'retry', delayMs, failedAttempts };
}
