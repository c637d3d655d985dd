// A relay that stalls while another takes its claims over: what it settles late must not undo what happened meanwhile.
import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { idsOf } from '../../../src/webhooks/relay/settlement.service.ts';
import { createEngine, type DeliveryEngine, eventually } from '../../workflows/delivery-engine.ts';

describe('a relay that comes back late', () => {
  let engine: DeliveryEngine;
  beforeEach(async () => {
    engine = await createEngine();
  });
  afterEach(() => engine.close());

  const claim = async (endpoint: string) => {
    const identity = await engine.relayStore.register(engine.database, randomUUID(), 'worker');
    const tenantId = engine.context.tenant.id;
    const work = await engine.relayStore.claim(engine.database, identity, [
      { tenantId, endpoint, quota: 1, retries: 0, late: false },
    ]);
    return { identity, work };
  };
  const kill = async ({ instance }: { instance: string }) => {
    await engine.database.query('DELETE FROM relays WHERE instance = $1', [instance]);
    await engine.relayStore.takeOver(engine.database);
  };
  const activate = (id: string, active: boolean) =>
    engine.subscriptions.update(engine.context, id, { active });

  /** A delivery whose workflow has tried once and waits for its inactive endpoint; only then do relays run. */
  const parked = async () => {
    const { id, path } = await engine.subscribe({ delaysMs: [1_000, 100, 100] });
    engine.receiver.answer(path, (_, count) => ({ status: count === 1 ? 500 : 200 }));
    const first = await engine.startProcess();
    const [delivery = ''] = await engine.publish(id);
    await engine.failedOnce(delivery);
    await activate(id, false);
    await eventually(async () => (await engine.delivery(delivery)).waiting_epoch !== null, 'its wait');
    await first.stop();
    return { id, path, delivery };
  };

  it('loses no wake-up of a delivery that went to wait again after its claims were taken over', async () => {
    const { id, path, delivery } = await parked();
    await activate(id, true);
    const late = await claim(id);
    expect(late.work.map(({ kind }) => kind)).toEqual(['wake']);
    // It has signaled, and stalls; others free its claim, and the delivery meets a closed endpoint again.
    await kill(late.identity);
    await activate(id, false);
    const { attempts } = engine.createAttempts();
    const again = await attempts.send({ deliveryId: delivery, generation: 0, n: 2 }, { workflow: true });
    expect(again).toMatchObject({ step: { kind: 'held' } });
    await engine.relayStore.complete(engine.database, late.identity, late.work, []);
    expect((await engine.outbox()).map(({ kind }) => kind)).toEqual(['wake']);
    expect(await engine.delivery(delivery)).toMatchObject({ waiting_epoch: 1, next_attempt_at: null });
    await activate(id, true);
    await engine.startProcess();
    expect(await engine.ended(delivery)).toMatchObject({ status: 'delivered' });
    expect(engine.receiver.of(path)).toHaveLength(2);
  });

  it('leaves the row that a delivery wrote when it went to wait again, although it is a relay alive', async () => {
    const { id, delivery } = await parked();
    await activate(id, true);
    const relay = await claim(id);
    await activate(id, false);
    const { attempts } = engine.createAttempts();
    for (const n of [2, 2])
      await attempts.send({ deliveryId: delivery, generation: 0, n }, { workflow: true });
    // One row that waits, beside the claimed one, however often it goes to wait.
    expect(await engine.outbox()).toHaveLength(2);
    await engine.relayStore.complete(engine.database, relay.identity, relay.work, []);
    expect(await engine.outbox()).toMatchObject([{ kind: 'wake', claimed_by: null }]);
    expect(await engine.delivery(delivery)).toMatchObject({ waiting_epoch: 1 });
  });

  it('neither marks nor deletes what another relay holds, and gives nothing of it back', async () => {
    const { id } = await engine.subscribe();
    const [delivery = ''] = await engine.publish(id);
    const late = await claim(id);
    await kill(late.identity);
    const other = await claim(id);
    await engine.relayStore.release(engine.database, { ...other.identity, epoch: 99 }, idsOf(other.work));
    await engine.relayStore.complete(engine.database, late.identity, late.work, []);
    expect(await engine.outbox()).toMatchObject([{ claimed_by: other.identity.instance }]);
    expect(await engine.delivery(delivery)).toMatchObject({ started_generation: null });
    await engine.relayStore.complete(engine.database, other.identity, other.work, []);
    expect(await engine.outbox()).toEqual([]);
    expect(await engine.delivery(delivery)).toMatchObject({ started_generation: 0 });
  });

  it.each<[how: string, free: (late: Awaited<ReturnType<typeof claim>>) => Promise<unknown>]>([
    ['dies', ({ identity }) => kill(identity)],
    ['stops', ({ identity }) => engine.relayStore.leave(engine.database, identity)],
    [
      'gives its work back',
      ({ identity, work }) => engine.relayStore.release(engine.database, identity, idsOf(work)),
    ],
  ])(
    'leaves nothing of a delivery that was canceled with its endpoint closed, when it %s',
    async (_, free) => {
      const { id } = await engine.subscribe();
      const [delivery = ''] = await engine.publish(id);
      const late = await claim(id);
      await activate(id, false);
      await engine.deliveries.cancel(engine.context, delivery);
      expect(await engine.outbox()).toMatchObject([{ kind: 'first', claimed_by: late.identity.instance }]);
      await free(late);
      await engine.startProcess();
      await eventually(async () => (await engine.outbox()).length === 0, 'an empty outbox');
      expect(await engine.delivery(delivery)).toMatchObject({ status: 'canceled', attempt_count: 0 });
    },
  );

  it('is made good by the sweep, when a workflow waits although its time has come', async () => {
    const { path, delivery } = await parked();
    await engine.startProcess();
    // It has nothing under way any more, and hears of nothing.
    await eventually(
      async () => (await engine.starter.stateOf({ deliveryId: delivery, generation: 0 })) === 'waiting',
      'its sleep',
    );
    await engine.database.query('DELETE FROM outbox');
    await engine.database.query(
      `UPDATE deliveries SET waiting_epoch = NULL, next_attempt_at = now() - interval '3 minutes'`,
    );
    await engine.database.query('UPDATE endpoints SET active = true, epoch = epoch + 1');
    expect(await engine.sweep(120_000).run()).toMatchObject({ delivery_overdue: 1, delivery_not_woken: 0 });
    expect(await engine.ended(delivery)).toMatchObject({ status: 'delivered', generation: 0 });
    expect(engine.receiver.of(path)).toHaveLength(2);
  });
});
