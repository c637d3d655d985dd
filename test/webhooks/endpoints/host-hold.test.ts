// A host that an operator holds: no attempt to it begins after the commit, whatever a tenant does; nothing is lost when
// it ends.
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { HoldLength } from '../../../src/webhooks/endpoints/host-hold.ts';
import { RECOVERY_SETTINGS } from '../../../src/webhooks/endpoints/recovery-settings.ts';
import { createOperatorRooms, type OperatorRooms } from '../../operations/operators/operator-rooms.ts';
import { eventually } from '../../workflows/delivery-engine.ts';
import { createEndpointEngine, type EndpointEngine } from '../../workflows/endpoint-engine.ts';
import { startScriptedReceiver } from '../../workflows/scripted-receiver.ts';
import { createTenantContext } from '../intake/fixture.ts';

const INTENT = { operator: 'jo', reason: 'asked by the receiver' };

describe('a held host', () => {
  let engine: EndpointEngine;
  let rooms: OperatorRooms;
  beforeAll(async () => {
    engine = await createEndpointEngine({
      recovery: { ...RECOVERY_SETTINGS, failingMs: 0, probeDelaysMs: [600_000] },
    });
    rooms = createOperatorRooms(engine.database, engine.notifier);
    await engine.startProcess();
    engine.startRunner();
  });
  afterAll(() => engine?.close());
  afterEach(() => release());

  const hold = (length: HoldLength = 'released', host = engine.receiver.host) =>
    rooms.hosts.hold(INTENT, host, length);
  const release = () => rooms.hosts.release(INTENT, engine.receiver.host);
  const at = (path: string) => engine.receiver.received.filter((request) => request.path.startsWith(path));
  const endpointOf = async (id: string) => (await engine.subscriptions.get(engine.context, id)).endpoint;

  /** Its workflow is parked; or, where it was not started before the endpoint closed, its start waits in the outbox. */
  const waits = async (id: string) => {
    if ((await engine.delivery(id)).waiting_epoch !== null) return true;
    const rows = await engine.outbox();
    return rows.some((row) => row.delivery_id === id && row.kind === 'start' && row.claimed_by === null);
  };

  it('gets nothing of any tenant, says why, and gets everything from the oldest when it is released', async () => {
    const other = await createTenantContext(engine.database);
    const mine = await engine.subscribe();
    const theirs = await engine.subscribe({ tenant: other });
    expect(await hold()).toMatchObject({ changed: true });
    const ids = [...(await engine.publish(mine.id)), ...(await engine.publish(mine.id, 29))];
    const [foreign = ''] = await engine.publish(theirs.id, 1, other);
    await engine.quiet();
    expect([...at(mine.path), ...at(theirs.path)]).toEqual([]);
    expect((await engine.deliveries.get(engine.context, ids[0] ?? '')).status).toBe('held');
    expect(await endpointOf(mine.id)).toMatchObject({ state: 'held', holdUntil: null, heldBy: 'operator' });
    const state = await engine.waitsFor(mine.id, 'hold');
    expect(state).toMatchObject({ state: 'held', heldBy: 'operator', opensAt: null });
    await release();
    for (const id of [...ids, foreign]) expect(await engine.ended(id)).toMatchObject({ status: 'delivered' });
    expect(at(mine.path).map(({ deliveryId }) => deliveryId)).toHaveLength(30);
    expect(at(mine.path)[0]?.deliveryId).toBe(ids[0]);
    await eventually(async () => !(await engine.endpoint(mine.id)).watched, 'its actor to let go');
  });

  it('is not opened by a retry, another path, an activation, or an operator who opens the endpoint', async () => {
    const { id, path } = await engine.subscribe({ delaysMs: [1, 1, 1] });
    const name = { tenantId: engine.context.tenant.id, subscriptionId: id };
    engine.receiver.answer(path, (_, count) => ({ status: count === 1 ? 500 : 200 }));
    const letRetry = engine.holdRetries();
    const [delivery = ''] = await engine.publish(id);
    await eventually(async () => (await engine.delivery(delivery)).attempt_count >= 1, 'the first record');
    await hold();
    letRetry();
    await eventually(() => waits(delivery), 'its wait');
    await engine.deliveries.retry(engine.context, delivery);
    await engine.subscriptions.update(engine.context, id, { url: `${engine.receiver.url}${path}?moved` });
    await engine.subscriptions.update(engine.context, id, { active: false });
    await engine.subscriptions.update(engine.context, id, { active: true });
    await engine.subscriptions.sendTest(engine.context, id);
    for (const kind of ['release', 'probe'] as const)
      await expect(engine.recoveries.operate(name, { kind })).rejects.toMatchObject({ code: 'conflict' });
    await expect(rooms.hosts.retry(INTENT, engine.receiver.host)).rejects.toMatchObject({ code: 'conflict' });
    await engine.quiet(id);
    expect(at(path)).toHaveLength(1);
    await release();
    expect(await engine.ended(delivery)).toMatchObject({ status: 'delivered', attempt_count: 2 });
    await eventually(() => at(path).length === 3, 'the test delivery');
  });

  it('opens by itself when its time has come', async () => {
    const { id, path } = await engine.subscribe();
    await hold({ seconds: 2 });
    const { holdUntil, heldBy } = await endpointOf(id);
    expect(heldBy).toBe('operator');
    const [delivery = ''] = await engine.publish(id);
    expect(await engine.ended(delivery)).toMatchObject({ status: 'delivered' });
    const [attempt] = await engine.attempts(delivery);
    expect(attempt?.started_at.getTime()).toBeGreaterThanOrEqual(holdUntil?.getTime() ?? Number.NaN);
    expect(at(path)).toHaveLength(1);
    expect(await rooms.hosts.list()).toEqual([]);
    expect(await endpointOf(id)).toMatchObject({ state: 'open', heldBy: null });
  });

  it('lets an attempt under way finish, and its failure wait', async () => {
    const { id, path } = await engine.subscribe({ delaysMs: [10, 10] });
    let answer: (status: number) => void = () => undefined;
    const answered = new Promise<number>((resolve) => {
      answer = resolve;
    });
    engine.receiver.answer(path, async (_, count) => ({ status: count === 1 ? await answered : 200 }));
    const [delivery = ''] = await engine.publish(id);
    await eventually(() => at(path).length === 1, 'the attempt');
    await hold();
    answer(500);
    await eventually(async () => (await engine.delivery(delivery)).attempt_count >= 1, 'its record');
    await engine.quiet(id);
    expect(at(path)).toHaveLength(1);
    await release();
    expect(await engine.ended(delivery)).toMatchObject({ status: 'delivered', attempt_count: 2 });
  });

  it('is held for who comes to it later, and not for who leaves it', async () => {
    const elsewhere = await startScriptedReceiver();
    try {
      const leaving = await engine.subscribe();
      const coming = await engine.subscribe({ url: `${elsewhere.url}/coming` });
      await hold();
      const late = await engine.subscribe();
      await engine.subscriptions.update(engine.context, leaving.id, { url: `${elsewhere.url}/leaving` });
      await engine.subscriptions.update(engine.context, coming.id, {
        url: `${engine.receiver.url}/coming`,
        active: true,
      });
      const [left = ''] = await engine.publish(leaving.id);
      const [came = ''] = await engine.publish(coming.id);
      const [made = ''] = await engine.publish(late.id);
      expect(await engine.ended(left)).toMatchObject({ status: 'delivered' });
      await engine.quiet();
      expect([...at('/coming'), ...at(late.path), ...elsewhere.of('/coming')]).toEqual([]);
      await release();
      for (const id of [came, made]) expect(await engine.ended(id)).toMatchObject({ status: 'delivered' });
    } finally {
      await elsewhere.close();
    }
  });

  it('is held for who comes to it in the same moment, whichever is first', async () => {
    const elsewhere = await startScriptedReceiver();
    try {
      const subscriptions = await Promise.all(
        Array.from({ length: 8 }, () => engine.subscribe({ url: `${elsewhere.url}/crowd` })),
      );
      const paths = subscriptions.map((_, index) => `/crowd-${index}`);
      await Promise.all([
        ...subscriptions.map(({ id }, index) =>
          engine.subscriptions.update(engine.context, id, { url: `${engine.receiver.url}${paths[index]}` }),
        ),
        hold(),
      ]);
      const made = await Promise.all(subscriptions.map(({ id }) => engine.publish(id)));
      await engine.quiet();
      expect(at(`/crowd`)).toEqual([]);
      await release();
      for (const [id = ''] of made) expect(await engine.ended(id)).toMatchObject({ status: 'delivered' });
    } finally {
      await elsewhere.close();
    }
  });

  it('drops what is canceled, and what is of a deleted subscription', async () => {
    const kept = await engine.subscribe();
    const gone = await engine.subscribe();
    await hold();
    const [first = '', second = ''] = await engine.publish(kept.id, 2);
    const [third = ''] = await engine.publish(gone.id);
    await engine.deliveries.cancel(engine.context, first);
    await engine.subscriptions.remove(engine.context, gone.id);
    await release();
    expect(await engine.ended(second)).toMatchObject({ status: 'delivered' });
    await engine.quiet();
    expect((await engine.delivery(first)).status).toBe('canceled');
    expect((await engine.delivery(third)).status).toBe('canceled');
    expect([...at(kept.path), ...at(gone.path)]).toHaveLength(1);
  });

  it('keeps what the endpoint asked for by itself', async () => {
    const { id, path } = await engine.subscribe({ delaysMs: [60_000] });
    engine.receiver.answer(path, () => ({ status: 503, headers: { 'retry-after': '3600' } }));
    const [delivery = ''] = await engine.publish(id);
    await eventually(async () => (await engine.delivery(delivery)).attempt_count >= 1, 'the first record');
    await hold();
    await release();
    expect(await endpointOf(id)).toMatchObject({ state: 'held', heldBy: 'endpoint' });
  });

  it('is one host: by its name with all its ports, with a port only that', async () => {
    const elsewhere = await startScriptedReceiver();
    try {
      const near = await engine.subscribe();
      const far = await engine.subscribe({ url: `${elsewhere.url}/far` });
      await hold('released', elsewhere.host);
      expect([(await endpointOf(near.id)).heldBy, (await endpointOf(far.id)).heldBy]).toEqual([
        null,
        'operator',
      ]);
      await hold('released', '127.0.0.1');
      expect([(await endpointOf(near.id)).heldBy, (await endpointOf(far.id)).heldBy]).toEqual([
        'operator',
        'operator',
      ]);
      await rooms.hosts.release(INTENT, '127.0.0.1');
      expect([(await endpointOf(near.id)).heldBy, (await endpointOf(far.id)).heldBy]).toEqual([
        null,
        'operator',
      ]);
      await rooms.hosts.release(INTENT, elsewhere.host);
      expect((await endpointOf(far.id)).heldBy).toBe(null);
    } finally {
      await elsewhere.close();
    }
  });

  it('when it is retried, a delivery whose start is not marked yet is asked for, so that its workflow is told', async () => {
    const { id } = await engine.subscribe({ active: false });
    const [started = '', unmarked = ''] = await engine.publish(id, 2);
    await engine.database.query(
      `UPDATE deliveries SET status = 'retrying', attempt_count = 1, next_attempt_at = now() + interval '1 hour',
         started_generation = CASE WHEN id = $1 THEN 0 END WHERE id = ANY ($2::uuid[])`,
      [started, [started, unmarked]],
    );
    const page = { after: '00000000-0000-0000-0000-000000000000', limit: 10 };
    const hastened = await engine.database.transaction({}, (unit) =>
      engine.hostHolds.hasten(unit, [id], page),
    );
    expect(hastened.sort()).toEqual([started, unmarked].sort());
    const { rows } = await engine.database.query<{ id: string; asked: boolean; due: boolean }>(
      `SELECT id, retry_requested_at IS NOT NULL AS asked, next_attempt_at <= now() AS due FROM deliveries
       WHERE id = ANY ($1::uuid[])`,
      [[started, unmarked]],
    );
    expect(rows.find((row) => row.id === started)).toMatchObject({ asked: false, due: true });
    expect(rows.find((row) => row.id === unmarked)).toMatchObject({ asked: true, due: true });
    await engine.subscriptions.remove(engine.context, id);
  });

  it('that fails and is mended gets deliveries that wait for a time or for a probe immediately, when an operator says so', async () => {
    const down = await engine.subscribe({ delaysMs: [3_600_000] });
    const waiting = await engine.subscribe({ delaysMs: [3_600_000] });
    for (const { path } of [down, waiting]) engine.receiver.answer(path, () => ({ status: 500 }));
    const ids = [...(await engine.publish(down.id, 12)), ...(await engine.publish(waiting.id, 2))];
    await eventually(async () => (await engine.endpoint(down.id)).state === 'down', 'the outage');
    for (const id of ids.slice(-2))
      await eventually(async () => (await engine.delivery(id)).status === 'retrying', 'a first failure');
    await engine.database.query("UPDATE endpoints SET last_error = 'http:503' WHERE subscription_id = $1", [
      waiting.id,
    ]);
    const failing = await rooms.hosts.listFailing({ errorClass: 'http', limit: 10 });
    const found = failing.filter(({ host }) => host === engine.receiver.host);
    expect(found).toMatchObject([{ tenants: 1 }]);
    expect(found[0]?.errors.map(({ error }) => error).toSorted()).toEqual(['http:500', 'http:503']);
    for (const { path } of [down, waiting]) engine.receiver.answer(path, () => ({ status: 200 }));
    const { changed, deliveries } = await rooms.hosts.retry(INTENT, engine.receiver.host);
    expect(changed).toBe(true);
    expect(deliveries).toBeGreaterThan(0);
    for (const id of ids) expect(await engine.ended(id)).toMatchObject({ status: 'delivered' });
    expect((await rooms.hosts.retry(INTENT, '192.0.2.200')).changed).toBe(false);
  });
});
