// An endpoint that is away for ten days, and a delivery that alone fails, in virtual time.
import { afterEach, describe, expect, it } from 'vitest';
import { DEFAULT_RETRY_POLICY } from '../../src/webhooks/deliveries/retry-schedule.ts';
import { eventually } from './delivery-engine.ts';
import { readClock } from './virtual-clock.ts';
import { createJumpingEngine, createSkippingEngine, type VirtualEngine } from './virtual-days.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const SERVER = process.env.TEST_TIME_SKIPPING_SERVER;

const engines: VirtualEngine[] = [];
const use = async (made: Promise<VirtualEngine>): Promise<VirtualEngine> => {
  const one = await made;
  engines.push(one);
  return one;
};
afterEach(async () => {
  for (const engine of engines.splice(0)) await engine.close();
});

describe.each([
  { server: "the run's server, with waits that are cut", make: createJumpingEngine, there: true },
  {
    server: 'the server that skips time',
    make: (mode: 'all' | 'retries') => createSkippingEngine(mode, SERVER ?? ''),
    there: SERVER !== undefined,
  },
])('on $server', ({ make, there }) => {
  it.runIf(there)(
    'an endpoint that is down for ten days gets everything when it is back, without a person',
    async () => {
      const { engine, pass } = await use(make('retries'));
      await engine.startProcess();
      engine.startRunner();
      await engine.subscribe({ eventTypes: ['webhook.*'] });
      const { id, path } = await engine.subscribe({ delaysMs: [...DEFAULT_RETRY_POLICY.delaysMs] });
      let status = 503;
      engine.receiver.answer(path, () => ({ status }));
      const begun = await readClock(engine.database);
      const ids = await engine.publish(id, 40);
      await eventually(async () => (await engine.lane(id)).state === 'down', 'the outage');
      const away = async () => (await readClock(engine.database)).getTime() - begun.getTime();
      while ((await away()) < 10 * DAY) {
        const state = await engine.stateOf(id);
        if (state?.waitsFor === 'probe' && state.until !== null) await pass(state.until);
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
      const during = engine.receiver.of(path).length;
      // The first failures, seven steps of the schedule, then one an hour.
      expect(during).toBeGreaterThan(200);
      expect(during).toBeLessThan(40 + 7 + 240 + 40);
      const { rows } = await engine.database.query<{ most: number; ended: number }>(
        `SELECT max(failed_attempts) AS most, count(completed_at)::int AS ended FROM deliveries WHERE subscription_id = $1`,
        [id],
      );
      expect(rows[0]).toEqual({ most: 1, ended: 0 });

      status = 204;
      const later = await engine.publish(id, 10);
      await eventually(
        async () => {
          const state = await engine.stateOf(id);
          if (state?.waitsFor === 'probe' && state.until !== null) await pass(state.until);
          return (await engine.counts(id)).delivered === ids.length + later.length;
        },
        'everything to be delivered',
        120_000,
      );
      expect(await engine.eventsOf('webhook.endpoint.failing')).toHaveLength(3);
      await eventually(
        async () => (await engine.eventsOf('webhook.endpoint.recovered')).length === 1,
        'the news that it is back',
      );
      expect((await engine.subscriptions.get(engine.context, id)).active).toBe(true);
      expect(await longestHistory(engine.client, id, there && SERVER !== undefined)).toBeLessThanOrEqual(
        1_000,
      );
    },
    400_000,
  );

  it.runIf(there)(
    'a delivery that alone fails goes through all twelve attempts',
    async () => {
      const jumping = make === createJumpingEngine;
      const { engine, pass } = await use(
        jumping ? createJumpingEngine('all', { deliveries: true }) : make('all'),
      );
      await engine.startProcess();
      await engine.subscribe({ eventTypes: ['webhook.delivery.failed'] });
      const { id, path } = await engine.subscribe({ delaysMs: [...DEFAULT_RETRY_POLICY.delaysMs] });
      engine.receiver.answer(path, () => ({ status: 500 }));
      const [delivery = ''] = await engine.publish(id);
      await eventually(
        async () => {
          const row = await engine.delivery(delivery);
          if (row.completed_at === null && row.next_attempt_at !== null && row.attempt_count > 0)
            await pass(row.next_attempt_at.toISOString());
          return row.completed_at !== null;
        },
        'its end',
        120_000,
      );
      expect(await engine.delivery(delivery)).toMatchObject({ status: 'failed', attempt_count: 12 });
      const attempts = await engine.attempts(delivery);
      const waits = attempts
        .slice(1)
        .map(({ started_at }, n) => +started_at - +(attempts[n]?.started_at ?? 0));
      for (const [n, scheduled] of DEFAULT_RETRY_POLICY.delaysMs.entries()) {
        expect(waits[n]).toBeGreaterThanOrEqual(scheduled);
        expect(waits[n]).toBeLessThan(scheduled * 1.2 + 60_000);
      }
      expect(await engine.eventsOf('webhook.delivery.failed')).toEqual([
        expect.objectContaining({ delivery_id: delivery, reason: 'exhausted', attempt_count: 12 }),
      ]);
    },
    200_000,
  );
});

/** The most events that one run of the endpoint's actor has had. */
async function longestHistory(
  client: VirtualEngine['engine']['client'],
  id: string,
  latestOnly: boolean,
): Promise<number> {
  const lengths: number[] = [];
  const handle = client.workflow.getHandle(`endpoint/${id}`);
  if (latestOnly) return (await handle.describe()).historyLength;
  for await (const run of client.workflow.list({ query: `WorkflowId="endpoint/${id}"` }))
    lengths.push(run.historyLength);
  expect(lengths.length).toBeGreaterThan(2);
  return Math.max(...lengths);
}
