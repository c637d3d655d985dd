// Relays against each other and against load: nobody waits for somebody else's slow receiver, and no two relays take
// the same work.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { refund } from '../../../src/webhooks/endpoints/endpoint-permit.store.ts';
import { createTurnstile } from '../../workflows/calm.ts';
import { createEngine, type DeliveryEngine, eventually } from '../../workflows/delivery-engine.ts';
import { createTenantContext } from '../intake/fixture.ts';

describe('the relay', () => {
  let engine: DeliveryEngine;

  beforeAll(async () => {
    engine = await createEngine({ sendTimeoutMs: 60_000 });
  });
  afterAll(() => engine.close());

  const claim = async (
    relay: { instance: string; epoch: number },
    endpoint: string,
    quota: number,
    { retries = 0, late = true } = {},
  ) =>
    engine.relayStore.claim(engine.database, relay, [
      { tenantId: engine.context.tenant.id, endpoint, quota, retries, late },
    ]);
  const register = () => engine.relayStore.register(engine.database, crypto.randomUUID(), 'worker');
  const FROM_START = {
    after: {
      tenantId: '00000000-0000-0000-0000-000000000000',
      endpoint: '00000000-0000-0000-0000-000000000000',
    },
    limit: 100,
  };

  it('shares work with others without taking any of it twice', async () => {
    const { id } = await engine.subscribe();
    await engine.publish(id, 60);
    const relays = await Promise.all([register(), register(), register()]);
    const rounds = await Promise.all(
      Array.from({ length: 12 }, (_, n) => claim(relays[n % 3] ?? { instance: '', epoch: 0 }, id, 5)),
    );
    const claimed = rounds.flat().map((work) => work.id);
    expect(claimed).toHaveLength(60);
    expect(new Set(claimed).size).toBe(60);
  });

  it('claims the oldest first, and only what its endpoint lets through', async () => {
    const relay = await register();
    const { id } = await engine.subscribe({ active: false });
    const ids = await engine.publish(id, 5);
    const closed = (await engine.relayStore.readyEndpoints(engine.database, FROM_START)).find(
      ({ endpoint }) => endpoint === id,
    );
    expect(closed).toMatchObject({ open: false });
    expect(await claim(relay, id, 5)).toEqual([]);
    await engine.subscriptions.update(engine.context, id, { active: true });
    // An endpoint that opens is paced: one first.
    expect((await claim(relay, id, 2)).map((work) => work.deliveryId)).toEqual([...ids].sort().slice(0, 1));
  });

  it('opens a held endpoint by itself when the hold has run out', async () => {
    const relay = await register();
    const { id } = await engine.subscribe();
    await engine.publish(id, 1);
    const hold = (seconds: number) =>
      engine.database.query(
        `UPDATE endpoints SET state = 'held', hold_until = now() + $2 * interval '1 second' WHERE subscription_id = $1`,
        [id, seconds],
      );
    await hold(60);
    expect(await claim(relay, id, 1)).toEqual([]);
    await hold(-1);
    expect(await claim(relay, id, 1)).toHaveLength(1);
  });

  it('takes no more from an endpoint that comes back than it has permits, however many relays ask', async () => {
    const { id } = await engine.subscribe();
    await engine.publish(id, 20);
    const pace = (permits: number, since = 0) =>
      engine.database.query(
        `UPDATE endpoints SET permits = $2, permits_at = now() - $3 * interval '1 second' WHERE subscription_id = $1`,
        [id, permits, since],
      );
    await pace(3);
    const relays = await Promise.all([register(), register(), register()]);
    const rounds = await Promise.all(
      Array.from({ length: 12 }, (_, n) => claim(relays[n % 3] ?? { instance: '', epoch: 0 }, id, 2)),
    );
    const [relay = { instance: '', epoch: 0 }] = relays;
    // Claims that meet the lock of another one take nothing.
    const claimed = [...rounds.flat(), ...(await claim(relay, id, 5))];
    expect(claimed).toHaveLength(3);
    expect(await claim(relay, id, 5)).toEqual([]);
    await refund(engine.database, claimed.slice(0, 2));
    expect(await claim(relay, id, 5)).toHaveLength(2);
    // An attempt that never reported: its permit comes back after twice the time that an attempt may take.
    await pace(0, 29);
    expect(await claim(relay, id, 5)).toEqual([]);
    await pace(0, 31);
    expect(await claim(relay, id, 5)).toHaveLength(1);
    expect(await claim(relay, id, 5)).toEqual([]);
  });

  it('claims nothing when it counts as dead, and gets its work back with its next epoch', async () => {
    const relay = await register();
    const { id } = await engine.subscribe();
    await engine.publish(id, 2);
    expect(await claim(relay, id, 1)).toHaveLength(1);
    await engine.database.query(
      `UPDATE relays SET seen_at = now() - interval '6 seconds' WHERE instance = $1`,
      [relay.instance],
    );
    expect(await claim(relay, id, 1)).toEqual([]);
    expect(await engine.relayStore.beat(engine.database, relay)).toBe(false);
    const next = await engine.relayStore.register(engine.database, relay.instance, 'worker');
    expect(next.epoch).toBe(relay.epoch + 1);
    await engine.relayStore.takeOver(engine.database);
    expect(await claim(next, id, 5)).toHaveLength(2);
  });

  it.each([
    { endpoint: 'has failed', failures: 3, probeStep: 0, state: 'open', failing: true },
    {
      endpoint: 'opened because only first attempts were refused',
      failures: 3,
      probeStep: 1,
      state: 'open',
      failing: false,
    },
    { endpoint: 'is probed', failures: 3, probeStep: 1, state: 'down', failing: true },
    { endpoint: 'works', failures: 0, probeStep: 0, state: 'open', failing: false },
  ])(
    'counts an endpoint that $endpoint as failing: $failing',
    async ({ failures, probeStep, state, failing }) => {
      const { id } = await engine.subscribe();
      await engine.publish(id, 1);
      await engine.database.query(
        'UPDATE endpoints SET failures_in_a_row = $2, probe_step = $3, state = $4 WHERE subscription_id = $1',
        [id, failures, probeStep, state],
      );
      const ready = await engine.relayStore.readyEndpoints(engine.database, FROM_START);
      expect(ready.find(({ endpoint }) => endpoint === id)).toMatchObject({ failing });
    },
  );

  /** Gives deliveries of an endpoint the rank of a retry; rows of the outbox have the time of their ids. */
  const retryOf = (deliveries: readonly string[], seconds: number, rank = 1) =>
    engine.database.query(
      `UPDATE outbox SET rank = $3, id = uuid_of_time(now() - ($2 + n * 0.001) * interval '1 second')
       FROM unnest($1::uuid[]) WITH ORDINALITY AS d (delivery_id, n) WHERE outbox.delivery_id = d.delivery_id`,
      [deliveries, seconds, rank],
    );

  it('takes the retries that it is told to, the oldest first, and fills up by rank', async () => {
    const relay = await register();
    const { id } = await engine.subscribe();
    const ids = (await engine.publish(id, 27)).sort();
    const [fresh, late, early, replays] = [
      [0, 20],
      [20, 23],
      [23, 26],
      [26, 27],
    ].map((ends) => ids.slice(...ends));
    await retryOf(late ?? [], 11);
    await retryOf(early ?? [], 6);
    await retryOf(replays ?? [], 60, 2);
    const counts = async (quota: number, retries: number, isLate = true) => {
      const claimed = (await claim(relay, id, quota, { retries, late: isLate })).map(
        ({ deliveryId }) => deliveryId,
      );
      return [fresh, late, early, replays].map((some) => claimed.filter((one) => some?.includes(one)).length);
    };
    expect(await counts(4, 2)).toEqual([2, 2, 0, 0]);
    expect(await counts(4, 2)).toEqual([3, 1, 0, 0]);
    expect(await counts(2, 2)).toEqual([2, 0, 0, 0]);
    expect(await counts(2, 1, false)).toEqual([1, 0, 1, 0]);
    expect(await counts(12, 0)).toEqual([12, 0, 0, 0]);
    expect(await counts(1, 0, false)).toEqual([0, 0, 1, 0]);
    expect(await counts(5, 3)).toEqual([0, 0, 1, 1]);
  });

  it('pages through endpoints by their order', async () => {
    const endpoints = await Promise.all(Array.from({ length: 5 }, () => engine.subscribe({ active: false })));
    for (const { id } of endpoints) await engine.publish(id, 3);
    const seen: string[] = [];
    for (let after = FROM_START.after; ; ) {
      const page = await engine.relayStore.readyEndpoints(engine.database, { after, limit: 2 });
      const last = page.at(-1);
      if (last === undefined) break;
      seen.push(...page.map(({ endpoint }) => endpoint));
      after = { tenantId: last.tenantId, endpoint: last.endpoint };
    }
    expect(seen).toEqual([...new Set(seen)].sort());
    expect(seen).toEqual(expect.arrayContaining(endpoints.map(({ id }) => id)));
  });
});

describe('a quiet subscription', () => {
  let engine: DeliveryEngine;
  beforeAll(async () => {
    engine = await createEngine();
  });
  afterAll(() => engine.close());

  it('is not kept waiting by a neighbour with a slow receiver and a long queue', async () => {
    const noisy = await engine.subscribe();
    const quiet = await engine.subscribe({ tenant: await createTenantContext(engine.database) });
    let most = 0;
    let now = 0;
    const slow = createTurnstile();
    const answer = slow.close();
    engine.receiver.answer(noisy.path, async () => {
      now += 1;
      most = Math.max(most, now);
      await slow.pass();
      now -= 1;
      return { status: 200 };
    });
    await engine.publish(noisy.id, 400);
    await engine.startProcess();
    await eventually(() => engine.receiver.of(noisy.path).length >= 10, 'the noisy one at work');
    const { rows } = await engine.database.query<{ tenant_id: string }>(
      'SELECT tenant_id FROM endpoints WHERE subscription_id = $1',
      [quiet.id],
    );
    const tenant = { ...engine.context, tenant: { ...engine.context.tenant, id: rows[0]?.tenant_id ?? '' } };
    for (let n = 0; n < 8; n += 1) {
      const [delivery = ''] = await engine.publish(quiet.id, 1, tenant);
      await engine.ended(delivery);
    }
    // No more of the slow ones under way than their endpoint may have.
    expect(most).toBeLessThanOrEqual(32);
    // All of the quiet one's arrived while most of the noisy one's queue still waits.
    expect(engine.receiver.of(noisy.path).length).toBeLessThan(200);
    answer();
  });
});
