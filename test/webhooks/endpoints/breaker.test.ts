// Failures and a Retry-After close an endpoint in its real row; endpoint-judgement.test.ts has the whole table.
import { randomUUID } from 'node:crypto';
import { NIL } from 'uuid';
import { afterAll, describe, expect, it } from 'vitest';
import { createEndpointHealthStore } from '../../../src/webhooks/endpoints/endpoint-health.store.ts';
import { RECOVERY_SETTINGS } from '../../../src/webhooks/endpoints/recovery-settings.ts';
import { retriesOf } from '../../../src/webhooks/relay/allocation.ts';
import * as relayStore from '../../../src/webhooks/relay/relay.store.ts';
import { createWebhookRooms } from '../webhook-rooms.ts';

/**
 * The time in which every attempt must fail is sixty times as long here, and so is the age of each failure: a slow
 * machine adds little.
 */
const LONGER = 60;
const health = createEndpointHealthStore({
  ...RECOVERY_SETTINGS,
  failingMs: RECOVERY_SETTINGS.failingMs * LONGER,
});
const rooms = await createWebhookRooms();
afterAll(() => rooms.close());

/** Notes failures that began so many seconds ago, each of another delivery. */
async function fail(
  id: string,
  secondsAgo: readonly number[],
  { holdMs = null }: { holdMs?: number | null } = {},
): Promise<void> {
  for (const ago of secondsAgo)
    await rooms.database.transaction({}, (unit) =>
      health.fail(unit, id, [
        {
          deliveryId: randomUUID(),
          startedAt: new Date(Date.now() - ago * LONGER * 1_000).toISOString(),
          holdMs,
          limited: false,
          probe: false,
          refused: false,
          error: 'http:503',
        },
      ]),
    );
}
const succeed = (id: string) => rooms.database.transaction({}, (unit) => health.recover(unit, id));

async function stateOf(id: string): Promise<string | undefined> {
  const { rows } = await rooms.database.query<{ state: string }>(
    'SELECT state FROM endpoints WHERE subscription_id = $1',
    [id],
  );
  return rows[0]?.state;
}
const seconds = (count: number, ago: number): number[] => Array.from({ length: count }, () => ago);

describe('an endpoint that fails', () => {
  it('is down when every attempt of six tenths of a second has failed, and not after fewer than ten', async () => {
    const id = await rooms.subscribe();
    await fail(id, seconds(9, 0.6));
    expect(await stateOf(id)).toBe('open');
    await fail(id, [0]);
    expect(await stateOf(id)).toBe('down');
  });

  it('begins to count anew with a success', async () => {
    const id = await rooms.subscribe();
    await fail(id, seconds(9, 0.6));
    await succeed(id);
    await fail(id, seconds(10, 0.1));
    expect(await stateOf(id)).toBe('open');
  });
});

describe('a Retry-After', () => {
  it('holds the endpoint, and after a success of a receiver that fails only its own delivery', async () => {
    const id = await rooms.subscribe();
    await fail(id, [0], { holdMs: 20 });
    expect(await stateOf(id)).toBe('held');
    await rooms.database.query('SELECT pg_sleep(0.05)');
    await succeed(id);
    await fail(id, [0], { holdMs: 60_000 });
    expect(await stateOf(id)).toBe('open');
  });
});

describe('the attempt that passes after a closing', () => {
  it.each([
    ['opens an endpoint that has never taken a first attempt', 'pending', 0, 'open'],
    ['opens one that took a retry before', 'delivered', 2, 'open'],
    ['leaves one down that took a first attempt before', 'delivered', 1, 'down'],
  ])('%s', async (_, status, attempts, state) => {
    const id = await rooms.subscribe();
    const [delivery] = await rooms.publish(id);
    await rooms.database.query('UPDATE deliveries SET status = $2, attempt_count = $3 WHERE id = $1', [
      delivery,
      status,
      attempts,
    ]);
    // The failures begin after the delivery, by two seconds.
    await rooms.database.query(
      `UPDATE endpoints SET state = 'down', probe_at = now(), permits = 1, failures_in_a_row = 10,
         failing_since = now() + interval '2 seconds' WHERE subscription_id = $1`,
      [id],
    );
    const startedAt = new Date().toISOString();
    const refused = { deliveryId: randomUUID(), startedAt, holdMs: null, limited: false, refused: false };
    const probe = { ...refused, probe: true, error: 'http:503', first: true, answered: true };
    const change = await rooms.database.transaction({}, (unit) => health.fail(unit, id, [probe]));
    expect(change?.opened).toBe(state === 'open');
    expect(await stateOf(id)).toBe(state);
  });
});

describe('a claim of a returning endpoint', () => {
  it('takes a tried delivery after an odd number of failures, and otherwise a new one', async () => {
    const id = await rooms.subscribe();
    const untried = await rooms.publish(id, 3);
    const relay = await relayStore.register(rooms.database, randomUUID(), 'worker');
    const tried = randomUUID();
    const { tenant } = rooms.demo;
    await rooms.database.query(
      `INSERT INTO outbox (id, tenant_id, endpoint, delivery_id, kind, rank) VALUES ($1, $2, $3, $1, 'wake', 1)`,
      [tried, tenant.id, id],
    );
    const claimAfter = async (failures: number) => {
      await rooms.database.query(
        'UPDATE endpoints SET permits = 1, failures_in_a_row = $2 WHERE subscription_id = $1',
        [id, failures],
      );
      const after = { tenantId: NIL, endpoint: NIL };
      const ready = await relayStore.readyEndpoints(rooms.database, { after, limit: 100 });
      const row = ready.find(({ endpoint }) => endpoint === id);
      const told = retriesOf({ permits: null, failures: 0, probeStep: 0, ...row, quota: 1 }, 0);
      const work = await relayStore.claim(rooms.database, relay, [
        { tenantId: tenant.id, endpoint: id, quota: 1, ...told },
      ]);
      return work.map(({ deliveryId }) => deliveryId);
    };
    expect(await claimAfter(2)).toEqual([untried[0]]);
    expect(await claimAfter(3)).toEqual([tried]);
    // Where none was tried, a new one is taken.
    expect(await claimAfter(5)).toEqual([untried[1]]);
    expect(await claimAfter(0)).toEqual([untried[2]]);
  });
});
