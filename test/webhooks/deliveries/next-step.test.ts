import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { classifyResponse } from '../../../src/platform/egress/outcome.ts';
import { nextStep } from '../../../src/webhooks/deliveries/next-step.ts';

const POLICY = { delaysMs: [1_000, 5_000] };
const step = (status: number, more: Partial<Parameters<typeof nextStep>[0]> = {}) =>
  nextStep({
    outcome: classifyResponse(status),
    failedAttempts: 0,
    policy: POLICY,
    retryRequested: false,
    probe: false,
    random: 0,
    ...more,
  });

describe('what follows an attempt', () => {
  it.each([
    { what: '2xx', actual: step(201), expected: { kind: 'delivered' } },
    { what: '500', actual: step(500), expected: { kind: 'retry', delayMs: 1_000, failedAttempts: 1 } },
    {
      what: 'the second 500',
      actual: step(500, { failedAttempts: 1 }),
      expected: { kind: 'retry', delayMs: 5_000, failedAttempts: 2 },
    },
    {
      what: 'the last 500',
      actual: step(500, { failedAttempts: 2 }),
      expected: { kind: 'failed', reason: 'exhausted', failedAttempts: 3 },
    },
    { what: '410', actual: step(410), expected: { kind: 'failed', reason: 'gone', failedAttempts: 1 } },
    { what: '422', actual: step(422), expected: { kind: 'failed', reason: 'rejected', failedAttempts: 1 } },
    {
      what: 'the last 500, but somebody asked for a retry meanwhile',
      actual: step(500, { failedAttempts: 2, retryRequested: true }),
      expected: { kind: 'retry', delayMs: 0, failedAttempts: 3 },
    },
    {
      what: '422, but somebody asked for a retry meanwhile',
      actual: step(422, { retryRequested: true }),
      expected: { kind: 'retry', delayMs: 0, failedAttempts: 1 },
    },
    {
      what: 'a 2xx, though somebody asked for a retry meanwhile',
      actual: step(200, { retryRequested: true }),
      expected: { kind: 'delivered' },
    },
    {
      what: 'a failed probe',
      actual: step(500, { failedAttempts: 2, probe: true }),
      expected: { kind: 'retry', delayMs: 0, failedAttempts: 2 },
    },
  ])('$what', ({ actual, expected }) => {
    expect(actual).toEqual(expected);
  });

  it('is never earlier than Retry-After or the schedule, nor later than a fifth more', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 90_000_000 }),
        fc.integer({ min: 0, max: 1 }),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (retryAfterMs, failedAttempts, random) => {
          const outcome = classifyResponse(503, retryAfterMs);
          const next = step(503, { outcome, failedAttempts, random });
          const floor = Math.max(Math.min(retryAfterMs, 86_400_000), POLICY.delaysMs[failedAttempts] ?? 0);
          expect(next.kind).toBe('retry');
          if (next.kind !== 'retry') return;
          expect(next.delayMs).toBeGreaterThanOrEqual(floor);
          expect(next.delayMs).toBeLessThanOrEqual(Math.ceil(floor * 1.2));
        },
      ),
    );
  });
});
