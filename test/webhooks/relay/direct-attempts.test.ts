// First attempts by the API process that has accepted the event: what it claims, what it leaves to the relays, and what
// becomes of its claims when it fails.
import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { PublishingService } from '../../../src/webhooks/intake/publishing.service.ts';
import {
  DIRECT_SETTINGS,
  DirectAttemptService,
} from '../../../src/webhooks/relay/direct-attempts.service.ts';
import { FirstAttemptService } from '../../../src/webhooks/relay/first-attempt.service.ts';
import { createEngine, type DeliveryEngine, eventually } from '../../workflows/delivery-engine.ts';

let engine: DeliveryEngine;
beforeEach(async () => {
  engine = await createEngine();
});
afterEach(() => engine.close());

type Settings = { [Name in keyof typeof DIRECT_SETTINGS]: number };

/** An API process, as far as publishing and first attempts go. */
async function startApi({
  settings = {},
  firstAttempts,
  database = engine.database,
}: {
  settings?: Partial<Settings>;
  firstAttempts?: Pick<FirstAttemptService, 'make'>;
  database?: Pick<DeliveryEngine['database'], 'query'>;
} = {}) {
  const notifier = { poke: vi.fn() };
  const directAttempts = new DirectAttemptService({
    database,
    notifier,
    firstAttempts: firstAttempts ?? new FirstAttemptService(engine.createAttempts()),
    onFailure: (error) => engine.failures.push(error),
    settings: { ...DIRECT_SETTINGS, beat: 50, ...settings },
  });
  const running = directAttempts.start();
  const publishing = new PublishingService({
    database,
    notifier,
    backlog: { add: () => undefined, check: () => undefined },
    directAttempts,
  });
  const publish = (count = 1, eventId?: string) =>
    publishing.publish(
      engine.context,
      Array.from({ length: count }, (_, n) => ({
        path: '',
        type: 'wallet.tx.signed',
        data: { n },
        eventId,
        occurredAt: undefined,
      })),
    );
  const publishOnce = (key: string) =>
    publishing.publishOnce(
      engine.context,
      { path: 'body', type: 'wallet.tx.signed', data: {}, eventId: undefined, occurredAt: undefined },
      {
        scope: { tenantId: engine.context.tenant.id, principal: 'test', route: 'publishEvents', key },
        digest: Buffer.alloc(32, 1),
      },
    );
  const isAlive = async () => (await engine.database.query('SELECT 1 FROM relays')).rows.length > 0;
  await eventually(isAlive, 'the first beat');
  return { publish, publishOnce, notifier, stop: running.stop };
}

const deliveriesOf = async (subscription: string) =>
  (
    await engine.database.query<{ id: string; status: string; attempt_count: number }>(
      'SELECT id, status, attempt_count FROM deliveries WHERE subscription_id = $1 ORDER BY id',
      [subscription],
    )
  ).rows;

const allDelivered = (subscription: string, count: number) =>
  eventually(async () => {
    const rows = await deliveriesOf(subscription);
    return rows.length === count && rows.every(({ status }) => status === 'delivered');
  }, 'the deliveries');

/** First attempts that do not come back. */
const stuck: Pick<FirstAttemptService, 'make'> = { make: () => new Promise(() => undefined) };

describe('an API process', () => {
  it('delivers what it has accepted, without a relay and without a row of the outbox left', async () => {
    const one = await engine.subscribe();
    const other = await engine.subscribe();
    const api = await startApi();
    const [published] = await api.publish(1, 'event-1');
    expect(published).toEqual({ eventId: 'event-1', deliveries: 2 });
    await allDelivered(one.id, 1);
    await allDelivered(other.id, 1);
    expect(await engine.outbox()).toEqual([]);
    expect(api.notifier.poke).not.toHaveBeenCalled();
    // The event again is the same answer, and no second delivery.
    expect(await api.publish(1, 'event-1')).toEqual([published]);
    expect(engine.receiver.of(one.path)).toHaveLength(1);
    await api.stop();
  });

  it('delivers what it has accepted under an idempotency key, once', async () => {
    const { id } = await engine.subscribe();
    const api = await startApi();
    expect(await api.publishOnce('key-1')).toMatchObject({ deliveries: 1 });
    expect(await api.publishOnce('key-1')).toBeUndefined();
    await allDelivered(id, 1);
    expect(await engine.outbox()).toEqual([]);
    expect(api.notifier.poke).not.toHaveBeenCalled();
    await api.stop();
  });

  it('sends in the envelope of each subscription, and so does a relay', async () => {
    const [direct, relayed] = [await engine.subscribe(), await engine.subscribe()];
    await engine.database.query(`UPDATE subscriptions SET envelope = 'cloudevents-structured'`);
    const api = await startApi({ settings: { room: 1 } });
    await api.publish(1, 'event-1');
    await api.stop();
    await engine.startProcess();
    for (const { id, path } of [direct, relayed]) {
      await allDelivered(id, 1);
      const [request] = engine.receiver.of(path);
      expect(request?.headers['content-type']).toMatch('application/cloudevents+json');
      expect(JSON.parse(request?.body.toString() ?? '')).toMatchObject({ id: 'event-1', data: { n: 0 } });
    }
  });

  it('gives what its attempt has not settled to the relays, which start the workflow', async () => {
    const { id, path } = await engine.subscribe({ delaysMs: [100] });
    engine.receiver.answer(path, (_, count) => ({ status: count === 1 ? 500 : 200 }));
    const api = await startApi();
    await api.publish();
    await eventually(async () => {
      const [row] = await engine.outbox();
      return row?.kind === 'start' && row.claimed_by === null;
    }, 'the row to come back');
    expect(api.notifier.poke).toHaveBeenCalled();
    await engine.startProcess();
    await allDelivered(id, 1);
    expect(engine.receiver.of(path)).toHaveLength(2);
    const [delivery] = await deliveriesOf(id);
    expect(delivery?.attempt_count).toBe(2);
    await api.stop();
  });

  it.each([
    ['is held', "hold_until = now() + interval '1 hour'"],
    ['is not active', 'active = false'],
    ['is down', "state = 'down', probe_at = now()"],
    ['has failed', 'failures_in_a_row = 1, failing_since = now()'],
    ['has recovered a moment ago', 'recovered_at = now()'],
    ['is paced', 'permits = 1, permits_at = now()'],
    ['has a rate', 'rate = 10, tokens = 1, tokens_at = now()'],
    ['is slow', 'p90_ms = 1000'],
  ])('leaves an endpoint that %s to the relays', async (_, change) => {
    const { id, path } = await engine.subscribe();
    await engine.database.query(`UPDATE endpoints SET ${change} WHERE subscription_id = $1`, [id]);
    const api = await startApi();
    await api.publish();
    expect(await engine.outbox()).toMatchObject([{ kind: 'first', claimed_by: null }]);
    expect(api.notifier.poke).toHaveBeenCalled();
    await api.stop();
    expect(engine.receiver.of(path)).toEqual([]);
  });

  it('claims no more than its room, and of an endpoint no more than its share', async () => {
    const many = await engine.subscribe();
    const api = await startApi({ settings: { room: 5, batch: 4, perEndpoint: 2 }, firstAttempts: stuck });
    const claimed = async () => (await engine.outbox()).filter((row) => row.claimed_by !== null).length;
    await api.publish(10);
    expect(await claimed()).toBe(2);
    // The endpoint has its share, so the next insert claims for the other ones only.
    const others = await Promise.all([1, 2, 3, 4].map(() => engine.subscribe()));
    await api.publish(10);
    expect(await claimed()).toBe(5);
    await api.publish(10);
    expect(await claimed()).toBe(5);
    const endpoints = await engine.database.query<{ endpoint: string; rows: number }>(
      'SELECT endpoint, count(*)::int AS rows FROM outbox WHERE claimed_by IS NOT NULL GROUP BY endpoint',
    );
    expect(endpoints.rows.find(({ endpoint }) => endpoint === many.id)?.rows).toBe(2);
    for (const { rows } of endpoints.rows) expect(rows).toBeLessThanOrEqual(2);
    expect(others).toHaveLength(4);
  });

  it('holds two claims for each place of an endpoint, and leaves the others to the relays', async () => {
    const { id } = await engine.subscribe();
    await engine.database.query('UPDATE endpoints SET in_flight_cap = 2 WHERE subscription_id = $1', [id]);
    const api = await startApi({ firstAttempts: stuck });
    const claimed = async () => (await engine.outbox()).filter((row) => row.claimed_by !== null).length;
    for (const expected of [2, 4, 4]) {
      await api.publish(10);
      expect(await claimed()).toBe(expected);
    }
  });

  it('that has died leaves its claims to the relays', async () => {
    const { id, path } = await engine.subscribe();
    const api = await startApi({ settings: { beat: 3_600_000 }, firstAttempts: stuck });
    await api.publish(3);
    expect((await engine.outbox()).map(({ claimed_by }) => claimed_by === null)).toEqual([
      false,
      false,
      false,
    ]);
    await engine.database.query("UPDATE relays SET seen_at = now() - interval '6 seconds'");
    await engine.startProcess();
    await allDelivered(id, 3);
    expect(engine.receiver.of(path)).toHaveLength(3);
  });

  it('claims nothing once others may have taken over its claims', async () => {
    await engine.subscribe();
    const api = await startApi({ settings: { beat: 3_600_000 }, firstAttempts: stuck });
    await engine.database.query("UPDATE relays SET seen_at = now() - interval '6 seconds'");
    await api.publish();
    expect(await engine.outbox()).toMatchObject([{ kind: 'first', claimed_by: null }]);
  });

  it('gives claims back whose answer was lost', async () => {
    const { id } = await engine.subscribe();
    const { database } = engine;
    let lost = false;
    const losing = {
      query: async <Row extends object>(text: string, values?: readonly unknown[], members?: 'camelCase') => {
        const result = await database.query<Row>(text, values, members);
        if (lost || !text.includes('published_events')) return result;
        lost = true;
        throw Object.assign(new Error('the connection was lost'), { code: 'ECONNRESET' });
      },
    };
    const api = await startApi({ settings: { audit: 50 }, database: losing });
    await api.publish(1, randomUUID()).catch(() => undefined);
    expect(lost).toBe(true);
    await eventually(async () => {
      const [row] = await engine.outbox();
      return row !== undefined && row.claimed_by === null;
    }, 'the claim to come back');
    await engine.startProcess();
    await allDelivered(id, 1);
    await api.stop();
  });

  it('finishes its attempts when it stops, and gives the others back', async () => {
    const finished = await engine.subscribe();
    const silent = await engine.subscribe();
    engine.receiver.answer(finished.path, () => ({ status: 204, delayMs: 300 }));
    engine.receiver.answer(silent.path, () => ({ status: 204, delayMs: 60_000 }));
    const api = await startApi({ settings: { grace: 1_000 } });
    await api.publish();
    await eventually(
      () => engine.receiver.of(finished.path).length === 1 && engine.receiver.of(silent.path).length === 1,
      'both attempts to begin',
    );
    await api.stop();
    expect(await deliveriesOf(finished.id)).toMatchObject([{ status: 'delivered' }]);
    expect(await deliveriesOf(silent.id)).toMatchObject([{ status: 'pending' }]);
    expect(await engine.outbox()).toMatchObject([{ kind: 'first', claimed_by: null }]);
    expect((await engine.database.query('SELECT 1 FROM relays')).rows).toEqual([]);
    // It accepts events still, and claims none.
    await api.publish();
    expect((await engine.outbox()).every(({ claimed_by }) => claimed_by === null)).toBe(true);
  });
});
