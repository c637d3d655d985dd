// When a failed delivery is tried again. Pure, so that it also runs in the workflow sandbox: the random number is a
// parameter.

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** The waits after the failed attempts of a delivery, in milliseconds; one attempt more than there are waits. */
export type RetryPolicy = { readonly delaysMs: readonly number[] };

/** The schedule of subscriptions that do not set one: 12 attempts in about 3 days. */
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
 * Reads a subscription's own schedule as it was stored.
 * @returns the default for null, and for anything that is no schedule: a delivery must not fail because of it
 */
export function readRetryPolicy(stored: unknown): RetryPolicy {
  const delays =
    typeof stored === 'object' && stored !== null && 'delaysMs' in stored ? stored.delaysMs : null;
  return Array.isArray(delays) && delays.every(isDelay) ? { delaysMs: delays } : DEFAULT_RETRY_POLICY;
}

function isDelay(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}

/** The largest part of a delay that is added to it at random. */
const MAX_JITTER = 0.2;

/** The longest `Retry-After` that is followed, in milliseconds. */
export const MAX_RETRY_AFTER_MS = 24 * HOUR;

/**
 * What a subscription's own schedule must keep to. The longest one (19 waits of 24 h and their jitter) ends within the
 * 30 days for which deliveries are kept.
 */
export const RETRY_POLICY_BOUNDS = {
  maxDelays: 19,
  minDelayMs: SECOND,
  maxDelayMs: 24 * HOUR,
} as const;

/**
 * The wait before the next attempt: the larger of the scheduled one and `Retry-After` (at most 24 h), and up to 20 % on
 * top, so that it is never earlier than either.
 *
 * @param policy the subscription's schedule
 * @param failedAttempts how many attempts of the schedule have failed, 1 or more
 * @param retryAfterMs what the receiver asked for, in milliseconds
 * @param random a number in [0, 1)
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
  const base = Math.max(scheduled, Math.min(retryAfterMs, MAX_RETRY_AFTER_MS));
  return Math.ceil(base * (1 + MAX_JITTER * random));
}
