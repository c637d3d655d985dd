// How much one endpoint gets: its rate over all relays, retries and replays included, and its places. Load only
// makes it slower, so what is compared are least times and most counts.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createEngine, type DeliveryEngine, eventually } from '../../workflows/delivery-engine.ts';

describe('an endpoint with a rate or places', () => {
  let engine: DeliveryEngine;
  beforeEach(async () => {
    engine = await createEngine();
  });
  afterEach(() => engine.close());

  const limit = (id: string, rateLimit: number | null) =>
    engine.subscriptions.update(engine.context, id, { rateLimit });

  const setTokens = (id: string, tokens: number) =>
    engine.database.query('UPDATE endpoints SET tokens = $2, tokens_at = now() WHERE subscription_id = $1', [
      id,
      tokens,
    ]);

  /**
   * Seconds from a moment before the first attempt to the last request: attempts begin at the rate, and may arrive
   * later.
   */
  const spanOf = (path: string, begun: number) =>
    (Math.max(...engine.receiver.of(path).map(({ at }) => at)) - begun) / 1_000;

  it('keeps to the rate with several relays, and lets an endpoint without one alone', async () => {
    const [slow, free] = [await engine.subscribe(), await engine.subscribe()];
    await limit(slow.id, 5);
    // It has no turn before the others have had theirs, however slow the machine is.
    await setTokens(slow.id, -600);
    await Promise.all([engine.startProcess(), engine.startProcess({ worker: false })]);
    const ids = await engine.publish(slow.id, 16);
    const others = await engine.publish(free.id, 16);
    await Promise.all(others.map((id) => engine.ended(id)));
    expect(engine.receiver.of(slow.path)).toEqual([]);
    const begun = Date.now();
    await setTokens(slow.id, 1);
    await Promise.all(ids.map((id) => engine.ended(id)));
    // 15 after the first, 5 a second: 3 s.
    expect(spanOf(slow.path, begun)).toBeGreaterThan(2.9);
    expect(engine.receiver.of(slow.path)).toHaveLength(16);
  });

  it('counts retries: they wait for their turn like everything else', async () => {
    const { id, path } = await engine.subscribe({ delaysMs: [1] });
    await limit(id, 5);
    const seen = new Set<string>();
    engine.receiver.answer(path, ({ deliveryId }) => {
      const first = !seen.has(deliveryId);
      seen.add(deliveryId);
      return { status: first ? 500 : 204 };
    });
    await engine.startProcess();
    const begun = Date.now();
    const ids = await engine.publish(id, 8);
    for (const delivery of ids) expect((await engine.ended(delivery)).status).toBe('delivered');
    expect(engine.receiver.of(path)).toHaveLength(16);
    expect(spanOf(path, begun)).toBeGreaterThan(2.9);
  });

  it('lets a retry that a person asked for pass, and counts it', async () => {
    const { id, path } = await engine.subscribe({ delaysMs: [600_000] });
    engine.receiver.answer(path, (_, count) => ({ status: count === 1 ? 500 : 204 }));
    await engine.startProcess();
    const [delivery = ''] = await engine.publish(id);
    await eventually(
      async () => (await engine.delivery(delivery)).status === 'retrying',
      'the first attempt',
    );
    await limit(id, 1);
    await setTokens(id, -600);
    await engine.deliveries.retry(engine.context, delivery);
    expect((await engine.ended(delivery)).status).toBe('delivered');
    const { rows } = await engine.database.query<{ tokens: number }>(
      'SELECT tokens FROM endpoints WHERE subscription_id = $1',
      [id],
    );
    expect(rows[0]?.tokens).toBeLessThan(-300);
    // Somebody else's turn comes when that is paid back, or when the limit is gone.
    const [next = ''] = await engine.publish(id);
    await engine.quiet(id);
    expect((await engine.delivery(next)).attempt_count).toBe(0);
    await limit(id, null);
    expect((await engine.ended(next)).status).toBe('delivered');
  });

  it('has never more under way than the endpoint has places, when retries come due together', async () => {
    const { id, path } = await engine.subscribe({ delaysMs: [3_000] });
    const now = { count: 0, most: 0 };
    const seen = new Set<string>();
    engine.receiver.answer(path, async ({ deliveryId }) => {
      const first = !seen.has(deliveryId);
      seen.add(deliveryId);
      if (first) return { status: 500 };
      now.count += 1;
      now.most = Math.max(now.most, now.count);
      await sleep(150);
      now.count -= 1;
      return { status: 204 };
    });
    await engine.startProcess();
    const ids = await engine.publish(id, 8);
    await eventually(() => seen.size === 8, 'all first attempts');
    await engine.database.query('UPDATE endpoints SET in_flight_cap = 2 WHERE subscription_id = $1', [id]);
    for (const delivery of ids) expect((await engine.ended(delivery)).status).toBe('delivered');
    expect(now.most).toBe(2);
    expect((await engine.attempts(ids[0] ?? '')).map(({ n }) => n)).toEqual([1, 2]);
  });

  it('takes first attempts before retries, and retries before replays', async () => {
    const { id, path } = await engine.subscribe({ delaysMs: [1, 600_000] });
    engine.receiver.answer(path, (_, count) => ({ status: count === 1 ? 400 : count === 2 ? 500 : 204 }));
    // The worker stays: one that is new would have to wait for tasks that were meant for the old one.
    await engine.startProcess({ relay: false });
    const { stop } = await engine.startProcess({ worker: false });
    const [replayed = ''] = await engine.publish(id);
    await engine.ended(replayed);
    await limit(id, 1);
    const [retried = ''] = await engine.publish(id);
    await eventually(async () => (await engine.delivery(retried)).attempt_count >= 1, 'its first attempt');
    await setTokens(id, -600);
    await eventually(async () => {
      const [row] = (await engine.outbox()).filter(({ delivery_id }) => delivery_id === retried);
      return row?.kind === 'wake';
    }, 'the retry to wait');
    await engine.deliveries.retry(engine.context, replayed);
    const [first = ''] = await engine.publish(id);
    await stop();
    await setTokens(id, 1);
    await engine.startProcess({ worker: false });
    for (const delivery of [first, retried, replayed]) await engine.ended(delivery);
    const order = engine.receiver.of(path).map(({ deliveryId }) => deliveryId);
    expect(order.slice(-3)).toEqual([first, retried, replayed]);
  });
});
