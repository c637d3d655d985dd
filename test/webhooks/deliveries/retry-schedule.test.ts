// Holds the schedule: the waits of the specification's table, never early, never beyond the bounds.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MAX_RETRY_AFTER_MS } from '../../../src/platform/egress/outcome.ts';
import {
  DEFAULT_RETRY_POLICY,
  nextDelay,
  RETRY_POLICY_BOUNDS,
  readRetryPolicy,
} from '../../../src/webhooks/subscriptions/retry-schedule.ts';

const SECONDS = [5, 30, 120, 600, 1800, 3600, 10_800, 21_600, 43_200, 86_400, 86_400];
const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

describe('nextDelay', () => {
  it('waits 5 s to 24 h after the first eleven failures, and no more after the twelfth', () => {
    const delays = SECONDS.map((_, index) =>
      nextDelay({ policy: DEFAULT_RETRY_POLICY, failedAttempts: index + 1, random: 0 }),
    );
    expect(delays).toEqual(SECONDS.map((seconds) => seconds * 1000));
    expect(nextDelay({ policy: DEFAULT_RETRY_POLICY, failedAttempts: 12, random: 0 })).toBe('exhausted');
    expect(DEFAULT_RETRY_POLICY.delaysMs.length + 1).toBe(12);
  });

  it('is never earlier than the schedule or Retry-After, and at most 20 % later', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 11 }),
        fc.option(fc.integer({ min: 0, max: MAX_RETRY_AFTER_MS }), { nil: undefined }),
        random,
        (failedAttempts, retryAfterMs, drawn) => {
          const delay = nextDelay({
            policy: DEFAULT_RETRY_POLICY,
            failedAttempts,
            retryAfterMs,
            random: drawn,
          });
          const scheduled = (SECONDS[failedAttempts - 1] ?? 0) * 1000;
          const floor = Math.max(scheduled, retryAfterMs ?? 0);
          expect(Number.isSafeInteger(delay)).toBe(true);
          expect(delay).toBeGreaterThanOrEqual(floor);
          expect(delay).toBeLessThanOrEqual(Math.ceil(floor * 1.2));
        },
      ),
    );
  });

  it('is exhausted after as many failures as the policy has waits, whatever the receiver asks', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 1000 }), { maxLength: 19 }),
        random,
        (delaysMs, drawn) => {
          const policy = { delaysMs };
          const failedAttempts = delaysMs.length + 1;
          expect(nextDelay({ policy, failedAttempts, retryAfterMs: 1000, random: drawn })).toBe('exhausted');
          if (delaysMs.length > 0) {
            expect(nextDelay({ policy, failedAttempts: delaysMs.length, random: drawn })).not.toBe(
              'exhausted',
            );
          }
        },
      ),
    );
  });

  it('ends the longest schedule that is allowed before deliveries are deleted, after 30 days', () => {
    const { maxDelays, maxDelayMs } = RETRY_POLICY_BOUNDS;
    expect((maxDelays * maxDelayMs * 1.2) / 86_400_000).toBeLessThan(30);
    expect(DEFAULT_RETRY_POLICY.delaysMs.length).toBeLessThanOrEqual(maxDelays);
  });
});

describe('a stored schedule', () => {
  it('is taken as it is, and the usual one instead of whatever is none', () => {
    expect(readRetryPolicy({ delaysMs: [1_000, 2_000] })).toEqual({ delaysMs: [1_000, 2_000] });
    for (const stored of [null, undefined, 'x', {}, { delaysMs: 5 }, { delaysMs: ['5'] }, { delaysMs: [-1] }])
      expect(readRetryPolicy(stored)).toBe(DEFAULT_RETRY_POLICY);
  });
});
