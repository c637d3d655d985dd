// Thousands of closed endpoints with work in them: they cost looks, and never time in which nothing happens.

import { afterAll, afterEach, expect, it, vi } from 'vitest';
import { AttemptMonitor } from '../../../src/webhooks/deliveries/attempt-monitor.service.ts';
import { RELAY_SETTINGS, RelayService } from '../../../src/webhooks/relay/relay.service.ts';
import * as store from '../../../src/webhooks/relay/relay.store.ts';
import { eventually } from '../../workflows/delivery-engine.ts';
import { createWebhookRooms } from '../webhook-rooms.ts';

const CLOSED = 5_000;
const PAGES = CLOSED / RELAY_SETTINGS.endpoints + 1;
/** Milliseconds, longer than any test: whatever comes after a rest never comes. */
const NEVER = 3_600_000;

// Their tenant's id is the smaller one: they come before whatever the other has.
const CLOSED_ENDPOINTS = `
WITH s AS (
  INSERT INTO subscriptions (id, tenant_id, url, host, event_types, filters, sink, secret_sealed)
  SELECT gen_random_uuid(), $1, 'https://down.example/', 'down.example', '{*}', '{*}', 'audit', '\\x00' FROM generate_series(1, $2::int)
  RETURNING id, tenant_id
), l AS (
  INSERT INTO endpoints (subscription_id, tenant_id, active, host_held_until) SELECT id, tenant_id, true, 'infinity' FROM s
  RETURNING subscription_id, tenant_id
)
INSERT INTO outbox (id, tenant_id, endpoint, delivery_id, generation, kind)
SELECT gen_random_uuid(), tenant_id, subscription_id, gen_random_uuid(), 0, 'first' FROM l`;

const rooms = await createWebhookRooms();
await rooms.database.query(CLOSED_ENDPOINTS, [rooms.demo.tenant.id, CLOSED]);
afterAll(() => rooms.close());

let stop: (() => Promise<void>) | undefined;
afterEach(() => stop?.());

async function startRelay() {
  const started: string[] = [];
  const failures: unknown[] = [];
  let looks = 0;
  let looksAtStart = 0;
  const make = async ({ deliveryId }: { deliveryId: string }) => {
    started.push(deliveryId);
    looksAtStart = looks;
    return { kind: 'done', removed: true } as const;
  };
  const relay = new RelayService({
    database: rooms.database,
    store: {
      ...store,
      readyEndpoints: async (...args) => {
        const page = await store.readyEndpoints(...args);
        looks += 1;
        return page;
      },
    },
    starter: { start: async () => 'started', signal: async () => true },
    monitor: new AttemptMonitor(),
    endpoints: rooms.endpoints,
    firstAttempts: { make },
    listen: () => ({ close: async () => undefined }),
    onFailure: (error) => failures.push(error),
    settings: { ...RELAY_SETTINGS, poll: NEVER, idlePoll: NEVER },
  });
  ({ stop } = await relay.start());
  return { relay, started, failures, looks: () => looks, looksAtStart: () => looksAtStart };
}

it('a lone event of another tenant goes out with the first look that could find it', async () => {
  const quiet = await rooms.subscribe({}, '/t/acme');
  const timers = vi.spyOn(globalThis, 'setTimeout');
  const { relay, started, failures, looks, looksAtStart } = await startRelay();
  // Its two loops wait for ever.
  await eventually(() => timers.mock.calls.filter(([, ms]) => ms === NEVER).length === 2, 'rest');
  timers.mockRestore();
  expect(looks()).toBe(PAGES);

  const [delivery = ''] = await rooms.publish(quiet);
  relay.poke();
  await eventually(() => started.includes(delivery), 'the start');
  expect(looksAtStart()).toBeLessThanOrEqual(2 * PAGES + 1);
  expect(failures).toEqual([]);
});
