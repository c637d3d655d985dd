// A process whose clock is not the database's says so, and by how much.
import { describe, expect, it, vi } from 'vitest';
import { createClockComparison } from '../../../src/platform/database/clock-skew.client.ts';
import { useTestDatabase } from '../../setup/database.ts';
import { PATIENCE } from '../../setup/patience.ts';

const { database } = await useTestDatabase();

async function compare(ahead: number, queryable: Pick<typeof database, 'query' | 'clock'> = database) {
  const told: number[] = [];
  const clocks = createClockComparison({
    database: queryable,
    now: () => Date.now() + ahead * 1_000,
    onSkewed: (seconds) => told.push(seconds),
    interval: 20,
  });
  const loop = clocks.start();
  return { told, seconds: clocks.seconds, stop: () => loop.stop() };
}

describe('the comparison of clocks', () => {
  it.each([3_600, -3_600])('tells a difference of %i s, and goes on telling it', async (ahead) => {
    const { told, seconds, stop } = await compare(ahead);
    await vi.waitFor(() => expect(told.length).toBeGreaterThan(1), PATIENCE);
    await stop();
    for (const value of [...told, seconds() ?? 0]) expect(Math.abs(value - ahead)).toBeLessThan(30);
  });

  it('tells no small one, and knows it', async () => {
    const { told, seconds, stop } = await compare(0);
    await vi.waitFor(() => expect(seconds()).not.toBeNull(), PATIENCE);
    await stop();
    expect(told).toEqual([]);
  });

  it('knows nothing while the database is away', async () => {
    const away = vi.fn(() => Promise.reject(new Error('away')));
    const { told, seconds, stop } = await compare(3_600, { query: away, clock: database.clock });
    await vi.waitFor(() => expect(away.mock.calls.length).toBeGreaterThan(1), PATIENCE);
    await stop();
    expect([told, seconds()]).toEqual([[], null]);
  });
});
