// A worker whose clock is wrong: its deliveries carry the database's time, and a Retry-After date is read by it.
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { createEngine, type DeliveryEngine } from '../../workflows/delivery-engine.ts';

const HOUR = 3_600_000;

describe.each([
  ['behind', -HOUR],
  ['ahead', HOUR],
])('a worker whose clock is an hour %s', (_, skew) => {
  let engine: DeliveryEngine;
  beforeAll(async () => {
    engine = await createEngine();
  });
  afterEach(() => void vi.useRealTimers());
  afterAll(() => engine.close());

  const attempt = async (answer: { status: number; headers?: Record<string, string> }) => {
    const { id, path } = await engine.subscribe({ delaysMs: [HOUR] });
    engine.receiver.answer(path, async () => answer);
    const [deliveryId = ''] = await engine.publish(id);
    const { attempts } = engine.createAttempts();
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + skew });
    await attempts.send({ deliveryId, generation: 0, n: 1 }, { workflow: true });
    vi.useRealTimers();
    return { deliveryId, request: engine.receiver.of(path)[0] };
  };
  const seconds = () => Date.now() / 1_000;

  it('signs with the time of the database', async () => {
    const before = seconds();
    const { request } = await attempt({ status: 204 });
    const timestamp = Number(request?.headers['x-service-timestamp']);
    expect(timestamp).toBeGreaterThan(before - 60);
    expect(timestamp).toBeLessThan(seconds() + 60);
  });

  it('waits until the date that a receiver names', async () => {
    const date = new Date(Date.now() + 2 * HOUR).toUTCString();
    const { deliveryId } = await attempt({ status: 503, headers: { 'retry-after': date } });
    const [{ retryAfter } = { retryAfter: 0 }] = await engine.database
      .query<{ retryAfter: number }>(
        'SELECT retry_after_seconds AS "retryAfter" FROM attempts WHERE delivery_id = $1',
        [deliveryId],
      )
      .then(({ rows }) => rows);
    expect(retryAfter).toBeGreaterThan(7_100);
    expect(retryAfter).toBeLessThanOrEqual(7_200);
  });
});
