// Deliveries of a suspended tenant: none begins an attempt after the commit, none is lost, and all go out when the
// tenant is resumed.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createOperatorRooms, type OperatorRooms } from '../../operations/operators/operator-rooms.ts';
import { eventually } from '../../workflows/delivery-engine.ts';
import { createEndpointEngine, type EndpointEngine } from '../../workflows/endpoint-engine.ts';
import { createTenantContext } from '../intake/fixture.ts';

const INTENT = { operator: 'jo', reason: 'abuse' };

describe('deliveries of a suspended tenant', () => {
  let engine: EndpointEngine;
  let rooms: OperatorRooms;
  beforeAll(async () => {
    engine = await createEndpointEngine();
    rooms = createOperatorRooms(engine.database, engine.notifier);
    await engine.startProcess();
    engine.startRunner();
  });
  afterAll(() => engine?.close());

  const slug = () => engine.context.tenant.slug;
  const suspend = () => rooms.suspensions.suspend(INTENT, slug());
  const resume = () => rooms.suspensions.resume(INTENT, slug());

  /** Its workflow is parked; or, where it was not started before the endpoint closed, its start waits in the outbox. */
  const waits = async (id: string) => {
    if ((await engine.delivery(id)).waiting_epoch !== null) return true;
    const rows = await engine.outbox();
    return rows.some((row) => row.delivery_id === id && row.kind === 'start' && row.claimed_by === null);
  };

  it('untried deliveries wait as held, also those of events that come meanwhile, and go out from the oldest', async () => {
    const { id, path } = await engine.subscribe();
    await suspend();
    const ids = [...(await engine.publish(id)), ...(await engine.publish(id, 29))];
    await engine.quiet();
    expect(engine.receiver.of(path)).toEqual([]);
    expect((await engine.deliveries.get(engine.context, ids[0] ?? '')).status).toBe('held');
    await resume();
    for (const delivery of ids) expect(await engine.ended(delivery)).toMatchObject({ status: 'delivered' });
    const order = engine.receiver.of(path).map(({ deliveryId }) => deliveryId);
    expect(order).toHaveLength(30);
    // One attempt is let through first; its success lets the next begin.
    expect(order[0]).toBe(ids[0]);
  });

  it('a tried delivery waits with its workflow, also when a retry, an opening or another URL is asked for', async () => {
    const { id, path } = await engine.subscribe({ delaysMs: [1, 1, 1] });
    engine.receiver.answer(path, (_, count) => ({ status: count === 1 ? 500 : 200 }));
    const letRetry = engine.holdRetries();
    const [delivery = ''] = await engine.publish(id);
    await eventually(async () => (await engine.delivery(delivery)).attempt_count >= 1, 'the first record');
    await suspend();
    letRetry();
    await eventually(() => waits(delivery), 'its wait');
    await engine.deliveries.retry(engine.context, delivery);
    await engine.subscriptions.update(engine.context, id, { url: `${engine.receiver.url}${path}?moved` });
    await engine.subscriptions.update(engine.context, id, { active: false });
    await engine.subscriptions.update(engine.context, id, { active: true });
    await engine.quiet(id);
    expect(engine.receiver.received.filter((request) => request.path.startsWith(path))).toHaveLength(1);
    await resume();
    expect(await engine.ended(delivery)).toMatchObject({ status: 'delivered', attempt_count: 2 });
  });

  it('an attempt under way may finish, and its failure is tried again after the end', async () => {
    const { id, path } = await engine.subscribe({ delaysMs: [10, 10] });
    let answer: (status: number) => void = () => undefined;
    const answered = new Promise<number>((resolve) => {
      answer = resolve;
    });
    engine.receiver.answer(path, async (_, count) => ({ status: count === 1 ? await answered : 200 }));
    const [delivery = ''] = await engine.publish(id);
    await eventually(() => engine.receiver.of(path).length >= 1, 'the attempt');
    await suspend();
    answer(500);
    await eventually(async () => (await engine.delivery(delivery)).attempt_count >= 1, 'its record');
    await engine.quiet(id);
    expect(engine.receiver.of(path)).toHaveLength(1);
    await resume();
    expect(await engine.ended(delivery)).toMatchObject({ status: 'delivered', attempt_count: 2 });
  });

  it('a subscription that is made at the same time is held as well', async () => {
    let commit: () => void = () => undefined;
    const mayCommit = new Promise<void>((resolve) => {
      commit = resolve;
    });
    let isMade = false;
    const creation = engine.database.transaction({}, async (transaction) => {
      const made = await engine.subscriptions.create(
        { ...engine.context, transaction },
        { url: `${engine.receiver.url}/late`, eventTypes: ['wallet.tx.signed'] },
      );
      isMade = true;
      await mayCommit;
      return made.subscription.id;
    });
    await eventually(() => isMade, 'the creation');
    const suspension = suspend();
    await engine.lockIsWaitedFor();
    commit();
    const id = await creation;
    await suspension;
    const later = (await engine.subscribe({ path: '/later' })).id;
    const [first = '', second = ''] = [...(await engine.publish(id)), ...(await engine.publish(later))];
    await engine.quiet();
    expect(engine.receiver.of('/late').concat(engine.receiver.of('/later'))).toEqual([]);
    await resume();
    for (const delivery of [first, second])
      expect(await engine.ended(delivery)).toMatchObject({ status: 'delivered' });
  });

  it('another tenant’s deliveries go out meanwhile', async () => {
    const other = await createTenantContext(engine.database);
    const { id } = await engine.subscribe({ tenant: other });
    await suspend();
    const [delivery = ''] = await engine.publish(id, 1, other);
    expect(await engine.ended(delivery)).toMatchObject({ status: 'delivered' });
    await resume();
  });

  it('an endpoint in trouble is watched again from the end on, and is not deactivated for the time between', async () => {
    const { id, path } = await engine.subscribe({ delaysMs: [20, 20, 60_000] });
    engine.receiver.answer(path, () => ({ status: 500 }));
    await engine.publish(id);
    await engine.waitsFor(id, 'success');
    await engine.database.query(
      "UPDATE endpoints SET failing_since = now() - interval '20 days', warned = 3, warned_for = (now() - interval '20 days')::timestamptz(3) WHERE subscription_id = $1",
      [id],
    );
    await suspend();
    await eventually(async () => !(await engine.endpoint(id)).watched, 'its actor to let go');
    await resume();
    await engine.waitsFor(id, 'release');
    expect(await engine.endpoint(id)).toMatchObject({ active: true, watched: true });
  });
});
