// Decides the step after an attempt. Pure: the clock stays in the database, the random number is a parameter.
import type { Outcome } from '../../platform/egress/outcome.ts';
import { nextDelay, type RetryPolicy } from './retry-schedule.ts';

/** The reason for which a delivery has failed for good. */
export type FailureReason = 'gone' | 'rejected' | 'exhausted';

/** `delayMs` is counted from the record of the attempt; `failedAttempts` is the new position in the schedule. */
export type NextStep =
  | { kind: 'delivered' }
  | { kind: 'failed'; reason: FailureReason; failedAttempts: number }
  | { kind: 'retry'; delayMs: number; failedAttempts: number };

/**
 * Decides the step after an attempt: 2xx ends the delivery, 410 and the other final answers fail it, each other outcome
 * waits by the schedule, with `Retry-After` as a floor. A retry that a person asked for while the attempt was under way
 * is due immediately, even after the last attempt of the schedule.
 *
 * @param failedAttempts position in the schedule before this attempt
 * @param retryRequested a person asked for another attempt after this one had begun
 * @param probe a test of an endpoint that is down; its failure does not advance the schedule
 * @param random a number in [0, 1)
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
