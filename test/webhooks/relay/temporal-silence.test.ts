// A worker whose Temporal does not answer says since when, and how many deliveries wait: once a minute, and once more
// when it is back.
import { afterEach, describe, expect, it, vi } from 'vitest';
import { countWaiting } from '../../../src/webhooks/backlog/backlog.store.ts';
import { type Silence, TemporalSilence } from '../../../src/webhooks/relay/temporal-silence.service.ts';
import { PATIENCE } from '../../setup/patience.ts';
import { createWebhookRooms } from '../webhook-rooms.ts';

let stop: (() => Promise<void>) | undefined;
afterEach(() => stop?.());

function watch(answers: (probe: number) => boolean, countWaiting: () => Promise<number> = async () => 7) {
  const told: (Silence | 'answers')[] = [];
  let probes = 0;
  const silence = new TemporalSilence({
    probe: async () => {
      probes += 1;
      return answers(probes);
    },
    countWaiting,
    onSilence: (silence) => told.push(silence),
    onAnswer: () => told.push('answers'),
    settings: { interval: 1, failures: 6 },
  });
  ({ stop } = silence.start());
  return { told, probes: () => probes };
}

describe('a Temporal that does not answer', () => {
  it('is told with the time of its last answer, each minute, and that it is back', async () => {
    const began = Date.now();
    const { told, probes } = watch((probe) => probe <= 3 || probe > 16);
    await vi.waitFor(() => expect(probes()).toBeGreaterThan(20), PATIENCE);
    expect(told).toEqual([
      { since: expect.any(String), deliveries: 7 },
      { since: expect.any(String), deliveries: 7 },
      'answers',
    ]);
    const [first, second] = told as Silence[];
    expect(first?.since).toBe(second?.since);
    expect(Date.parse(first?.since ?? '')).toBeGreaterThanOrEqual(began);
  });

  it('is told without a number while the database is away', async () => {
    const { told } = watch(
      () => false,
      () => Promise.reject(new Error('away')),
    );
    await vi.waitFor(
      () => expect(told[0]).toEqual({ since: expect.any(String), deliveries: undefined }),
      PATIENCE,
    );
  });

  it('is not told after a few probes without an answer', async () => {
    const { told, probes } = watch((probe) => probe % 6 === 0);
    await vi.waitFor(() => expect(probes()).toBeGreaterThan(30), PATIENCE);
    expect(told).toEqual([]);
  });
});

it('deliveries wait when no relay has them, or when their workflow is late', async () => {
  const rooms = await createWebhookRooms();
  try {
    const webhook = await rooms.subscribe({});
    const ids = [];
    for (let n = 0; n < 3; n += 1) ids.push(...(await rooms.publish(webhook)));
    const [late, due] = ids;
    const hand = `UPDATE deliveries SET status = 'retrying', started_generation = 0, next_attempt_at = now() + $2::interval WHERE id = $1`;
    await rooms.database.query(hand, [late, '-1 minute']);
    await rooms.database.query(hand, [due, '1 hour']);
    await rooms.database.query('DELETE FROM outbox WHERE delivery_id = ANY($1)', [[late, due]]);
    expect(await countWaiting(rooms.database)).toBe(2);
  } finally {
    await rooms.close();
  }
});
