// Computes the wait before the next attempt. Pure, so that it also runs in the workflow sandbox: the random number is a
// parameter.

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** The waits after failed attempts, in milliseconds. A delivery has one attempt more than there are waits. */
export type RetryPolicy = { readonly delaysMs: readonly number[] };

/** The default schedule: 12 attempts in about 3 days. */
export const DEFAULT_RETRY_POLICY: RetryPolicy = {
  delaysMs: [
    5 * SECOND,
    30 * SECOND,
    2 * MINUTE,
    10 * MINUTE,
    30 * MINUTE,
    HOUR,
    3 * HOUR,
    6 * HOUR,
    12 * HOUR,
    24 * HOUR,
    24 * HOUR,
  ],
};

/**
 * Reads a stored schedule.
 * @returns the default for null or an invalid value, so that no delivery fails because of it
 */
export function readRetryPolicy(stored: unknown): RetryPolicy {
  const delays =
    typeof stored === 'object' && stored !== null && 'delaysMs' in stored ? stored.delaysMs : null;
  return Array.isArray(delays) && delays.every(isDelay) ? { delaysMs: delays } : DEFAULT_RETRY_POLICY;
}

function isDelay(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}

const MAX_JITTER = 0.2;

/**
 * The limits of a subscription's schedule. The longest schedule (19 waits of 24 h with jitter) ends within the 30 days
 * for which deliveries are kept.
 */
export const RETRY_POLICY_BOUNDS = {
  maxDelays: 19,
  minDelayMs: SECOND,
  maxDelayMs: 24 * HOUR,
} as const;

/**
 * Computes the wait before the next attempt: the scheduled delay or `Retry-After` (at most 24 h), whichever is longer,
 * plus a random addition of up to 20 %.
 * @param options.failedAttempts how many attempts of the schedule have failed, 1 or more
 * @param options.retryAfterMs the wait of the outcome, in milliseconds
 * @param options.random a number in [0, 1)
 * @returns whole milliseconds, or `exhausted` when no attempt is left
 */
export function nextDelay({
  policy,
  failedAttempts,
  retryAfterMs = 0,
  random,
}: {
  policy: RetryPolicy;
  failedAttempts: number;
  retryAfterMs?: number | undefined;
  random: number;
}): number | 'exhausted' {
  const scheduled = policy.delaysMs[failedAttempts - 1];
  if (scheduled === undefined) return 'exhausted';
  const base = Math.max(scheduled, retryAfterMs);
  return Math.ceil(base * (1 + MAX_JITTER * random));
}
