// Buckets of time: each moment lies in one, all processes name it alike, and their workflows are kept started.
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { createExpiryKeeper } from '../../../src/authentication/challenges/challenge-expiry.client.ts';
import { BUCKET_LENGTH, bucketsAt } from '../../../src/authentication/challenges/challenge-expiry.ts';
import { challengeExpiryWorkflowId } from '../../../src/platform/temporal/names.ts';
import { PATIENCE } from '../../setup/patience.ts';

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

describe('a keeper', () => {
  it('tells of what fails, tries again, and asks Temporal once for each bucket', async () => {
    const failures: unknown[] = [];
    const asked: string[] = [];
    let looks = 0;
    const readClock = async () => {
      looks += 1;
      if (looks === 1) throw new Error('the database is away');
      return new Date('2026-11-21T18:15:00Z');
    };
    const start = async (_: string, { workflowId }: { workflowId: string }) => {
      asked.push(workflowId);
      if (asked.length === 2) throw new Error('Temporal is away');
    };
    const client = { workflow: { start }, withDeadline: (_: number, call: () => unknown) => call() };
    const keeper = createExpiryKeeper({
      // Of a client it needs these two.
      client: client as never,
      expiry: { readClock },
      bucketLength: 1_000,
      onFailure: (error) => failures.push(error),
    });
    const { stop } = keeper.start();
    await vi.waitFor(() => expect(looks).toBeGreaterThan(4), PATIENCE);
    await stop();
    expect(failures.map(String)).toEqual(['Error: the database is away', 'Error: Temporal is away']);
    expect(asked).toHaveLength(3);
    expect(asked[2]).toBe(asked[1]);
  });
});
