// Buckets of time: each moment lies in one, and all processes name it alike.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BUCKET_LENGTH, bucketsAt } from '../../src/challenges/expiry.ts';
import { challengeExpiryWorkflowId } from '../../src/temporal/names.ts';

const at = (text: string) => Date.parse(text);

describe('a bucket', () => {
  it.each([
    ['2026-11-21T18:15:00.000Z', '2026-11-21T18:15Z', '2026-11-21T18:16:00.000Z'],
    ['2026-11-21T18:15:59.999Z', '2026-11-21T18:15Z', '2026-11-21T18:16:00.000Z'],
    ['2026-12-31T23:59:30.000Z', '2026-12-31T23:59Z', '2027-01-01T00:00:00.000Z'],
  ])('of %s is the minute %s, which ends at %s', (moment, name, endsAt) => {
    expect(bucketsAt(at(moment))[0]).toEqual({ name, endsAt });
    expect(challengeExpiryWorkflowId(name)).toBe(`challenge-expiry/${name}`);
  });

  it('of another length is named as precisely as that needs', () => {
    const [current, next] = bucketsAt(at('2026-11-21T18:15:07.123Z'), 2_000);
    expect(current).toEqual({ name: '2026-11-21T18:15:06Z', endsAt: '2026-11-21T18:15:08.000Z' });
    expect(next).toEqual({ name: '2026-11-21T18:15:08Z', endsAt: '2026-11-21T18:15:10.000Z' });
  });

  it('holds its moment, and the next one begins where it ends', () => {
    const moments = fc.integer({ min: at('2020-01-01T00:00:00Z'), max: at('2100-01-01T00:00:00Z') });
    fc.assert(
      fc.property(moments, (moment) => {
        const [current, next] = bucketsAt(moment);
        const end = at(current.endsAt);
        expect(moment).toBeLessThan(end);
        expect(moment).toBeGreaterThanOrEqual(end - BUCKET_LENGTH);
        expect(bucketsAt(end)[0]).toEqual(next);
      }),
    );
  });
});
