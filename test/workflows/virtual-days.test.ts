// An endpoint that is away for ten days, and a delivery that alone fails, in virtual time.
import { afterEach, describe, expect, it } from 'vitest';
import { DEFAULT_RETRY_POLICY } from '../../src/webhooks/subscriptions/retry-schedule.ts';
import { eventually } from './delivery-engine.ts';
import type { EndpointEngine } from './endpoint-engine.ts';
import { advanceClock, readClock } from './virtual-clock.ts';
import { createVirtualEngine } from './virtual-days.ts';

const DAY = 24 * 3_600_000;

const engines: EndpointEngine[] = [];
const use = async (made: Promise<EndpointEngine>): Promise<EndpointEngine> => {
  const one = await made;
  engines.push(one);
  return one;
};
afterEach(async () => {
  for (const engine of engines.splice(0)) await engine.close();
});

describe('in virtual time', () => {
  it('an endpoint that is down for ten days gets everything when it is back, without a person', async () => {
    const engine = await use(createVirtualEngine('endpoints'));
    await engine.startProcess();
    engine.startRunner();
    await engine.subscribe({ eventTypes: ['webhook.*'] });
    const { id, path } = await engine.subscribe({ delaysMs: [...DEFAULT_RETRY_POLICY.delaysMs] });
    let status = 503;
    engine.receiver.answer(path, () => ({ status }));
    const begun = (await readClock(engine.database)).getTime();
    const ids = await engine.publish(id, 40);
    const passed = async () => (await readClock(engine.database)).getTime() - begun;
    // Each day is waited for by itself: a machine that is slow still moves on.
    for (let day = 1; day <= 10; day += 1)
      await eventually(async () => (await passed()) >= day * DAY, `day ${day}`);
    const during = engine.receiver.of(path).length;
    // The first failures, a first retry of each that was due before the endpoint closed, eleven probes, then one an
    // hour.
    expect(during).toBeGreaterThan(200);
    expect(during).toBeLessThan(40 + 40 + 11 + 240 + 20);
    const { rows } = await engine.database.query<{ most: number; ended: number }>(
      `SELECT max(failed_attempts) AS most, count(completed_at)::int AS ended FROM deliveries WHERE subscription_id = $1`,
      [id],
    );
    expect(rows[0]?.ended).toBe(0);
    // Of the schedule only what came before the endpoint closed was spent.
    expect(rows[0]?.most).toBeLessThanOrEqual(2);

    status = 204;
    const later = await engine.publish(id, 10);
    await eventually(
      async () => (await engine.counts(id)).delivered === ids.length + later.length,
      'everything to be delivered',
      120_000,
    );
    expect(await engine.eventsOf('webhook.endpoint.failing')).toHaveLength(3);
    await eventually(
      async () => (await engine.eventsOf('webhook.endpoint.recovered')).length === 1,
      'the news that it is back',
    );
    expect((await engine.subscriptions.get(engine.context, id)).active).toBe(true);
    expect(await longestHistory(engine, id)).toBeLessThanOrEqual(1_000);
  });

  it('a relay whose row is gone registers at the present time, and goes on', async () => {
    const engine = await use(createVirtualEngine('endpoints'));
    await advanceClock(engine.database, DAY);
    await engine.startProcess();
    await engine.database.query('DELETE FROM relays');
    const { id } = await engine.subscribe();
    await engine.publish(id);
    await eventually(async () => (await engine.counts(id)).delivered === 1, 'its delivery');
    const { rows } = await engine.database.query(
      "SELECT FROM relays WHERE seen_at > now() - interval '1 hour'",
    );
    expect(rows).toHaveLength(1);
  });

  it('a delivery that alone fails goes through all twelve attempts', async () => {
    const engine = await use(createVirtualEngine('deliveries'));
    await engine.startProcess();
    await engine.subscribe({ eventTypes: ['webhook.delivery.failed'] });
    const { id, path } = await engine.subscribe({ delaysMs: [...DEFAULT_RETRY_POLICY.delaysMs] });
    engine.receiver.answer(path, () => ({ status: 500 }));
    const [delivery = ''] = await engine.publish(id);
    await engine.ended(delivery, 120_000);
    expect(await engine.delivery(delivery)).toMatchObject({ status: 'failed', attempt_count: 12 });
    const attempts = await engine.attempts(delivery);
    const waits = attempts.slice(1).map(({ started_at }, n) => +started_at - +(attempts[n]?.started_at ?? 0));
    for (const [n, scheduled] of DEFAULT_RETRY_POLICY.delaysMs.entries()) {
      expect(waits[n]).toBeGreaterThanOrEqual(scheduled);
      expect(waits[n]).toBeLessThan(scheduled * 1.2 + 60_000);
    }
    expect(await engine.eventsOf('webhook.delivery.failed')).toEqual([
      expect.objectContaining({ delivery_id: delivery, reason: 'exhausted', attempt_count: 12 }),
    ]);
  });
});

/** The most events that one run of the endpoint's actor has had. */
async function longestHistory({ client }: EndpointEngine, id: string): Promise<number> {
  const lengths: number[] = [];
  for await (const run of client.workflow.list({ query: `WorkflowId="endpoint/${id}"` }))
    lengths.push(run.historyLength);
  expect(lengths.length).toBeGreaterThan(2);
  return Math.max(...lengths);
}
