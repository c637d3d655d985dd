// When failures close an endpoint, and when a Retry-After does: against the real row.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createEndpointHealthStore } from '../../../src/webhooks/endpoints/endpoint-health.store.ts';
import { RECOVERY_SETTINGS } from '../../../src/webhooks/endpoints/recovery-settings.ts';
import * as relayStore from '../../../src/webhooks/relay/relay.store.ts';
import { createWebhookRooms, type WebhookRooms } from '../webhook-rooms.ts';

/**
 * The time in which every attempt must fail is sixty times as long here, and so is the age of each failure: a slow
 * machine adds little.
 */
const LONGER = 60;
const health = createEndpointHealthStore({
  ...RECOVERY_SETTINGS,
  failingMs: RECOVERY_SETTINGS.failingMs * LONGER,
});
let rooms: WebhookRooms;
beforeAll(async () => {
  rooms = await createWebhookRooms();
});
afterAll(() => rooms?.close());

/** Notes failures that began so many seconds ago, each of another delivery. */
async function fail(
  id: string,
  secondsAgo: readonly number[],
  {
    holdMs = null,
    limited = false,
    first = false,
  }: { holdMs?: number | null; limited?: boolean; first?: boolean } = {},
): Promise<void> {
  for (const ago of secondsAgo)
    await rooms.database.transaction({}, (unit) =>
      health.fail(unit, {
        subscriptionId: id,
        deliveryId: randomUUID(),
        startedAt: new Date(Date.now() - ago * LONGER * 1_000).toISOString(),
        holdMs,
        limited,
        probe: false,
        refused: false,
        error: limited ? 'http:429' : 'http:503',
        first,
      }),
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
  it('stays open when many attempts failed at one moment', async () => {
    const id = await rooms.subscribe();
    await fail(id, seconds(300, 0.3));
    expect(await stateOf(id)).toBe('open');
  });

  it('is down when every attempt of six tenths of a second has failed, and not after fewer than ten', async () => {
    const id = await rooms.subscribe();
    await fail(id, seconds(9, 0.6));
    expect(await stateOf(id)).toBe('open');
    await fail(id, [0]);
    expect(await stateOf(id)).toBe('down');
  });

  it('counts from the beginning of the attempts: those that time out say so late', async () => {
    const id = await rooms.subscribe();
    await fail(id, seconds(10, 15));
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

  it('of a 429 holds the endpoint always: it is about the rate', async () => {
    const id = await rooms.subscribe();
    await fail(id, [0]);
    await succeed(id);
    await fail(id, [0], { holdMs: 60_000, limited: true });
    expect(await stateOf(id)).toBe('held');
  });

  it('holds it again once the success is five seconds old', async () => {
    const id = await rooms.subscribe();
    await fail(id, [0]);
    await succeed(id);
    await rooms.database.query(
      "UPDATE endpoints SET recovered_at = now() - interval '6 s' WHERE subscription_id = $1",
      [id],
    );
    await fail(id, [0], { holdMs: 60_000 });
    expect(await stateOf(id)).toBe('held');
  });
});

describe('a receiver that has taken a retry', () => {
  /** An endpoint whose last success, after failures, is so many seconds old. */
  const recovered = async (ago: number) => {
    const id = await rooms.subscribe();
    await fail(id, [0]);
    await succeed(id);
    await rooms.database.query(
      "UPDATE endpoints SET recovered_at = now() - $2 * interval '1 s' WHERE subscription_id = $1",
      [id, ago],
    );
    return id;
  };

  it('may refuse first attempts until their retries have come', async () => {
    const id = await recovered(6);
    await fail(id, seconds(20, 6), { holdMs: 1_000, first: true });
    expect(await stateOf(id)).toBe('open');
  });

  it('is closed when it refuses retries, and when none has come in fifteen seconds', async () => {
    const refusing = await recovered(9);
    await fail(refusing, seconds(9, 9), { first: true });
    await fail(refusing, [0]);
    expect(await stateOf(refusing)).toBe('down');
    const away = await recovered(16);
    await fail(away, [0], { holdMs: 1_000, first: true });
    expect(await stateOf(away)).toBe('held');
    const lost = await recovered(16);
    await fail(lost, seconds(10, 16), { first: true });
    expect(await stateOf(lost)).toBe('down');
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
      const work = await relayStore.claim(rooms.database, relay, [
        { tenantId: tenant.id, endpoint: id, quota: 1 },
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
