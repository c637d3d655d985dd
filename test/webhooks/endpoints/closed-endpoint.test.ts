// Deliveries and the gate of their subscription: nothing begins while it is closed, and nothing stays behind when it
// opens.
import { setTimeout as sleep } from 'node:timers/promises';
import { WorkflowNotFoundError } from '@temporalio/common';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AttemptStore } from '../../workflows/delivery-engine.ts';
import { createEngine, type DeliveryEngine, eventually } from '../../workflows/delivery-engine.ts';

/** Calls of one function of the store can be stopped on their way. */
function createGate() {
  let arrive: () => void = () => undefined;
  let open: () => void = () => undefined;
  let gate: Promise<void> | undefined;
  const wrap = (store: AttemptStore): AttemptStore => ({
    ...store,
    shareEndpoint: async (unit, id) => {
      const endpoint = await store.shareEndpoint(unit, id);
      arrive();
      await gate;
      return endpoint;
    },
  });
  return {
    wrap,
    /** @returns when a call has read the endpoint, and how to let it go on */
    close: () => {
      const arrived = new Promise<void>((resolve) => {
        arrive = resolve;
      });
      gate = new Promise<void>((resolve) => {
        open = resolve;
      });
      return { arrived, open: () => open() };
    },
  };
}

describe('the endpoint of a subscription', () => {
  let engine: DeliveryEngine;
  const gate = createGate();

  beforeAll(async () => {
    engine = await createEngine();
    await engine.startProcess({ store: gate.wrap });
  });
  afterAll(() => engine.close());

  const activate = (id: string, active: boolean) =>
    engine.subscriptions.update(engine.context, id, { active });

  it('keeps untried deliveries without a workflow while it is inactive, and lets all of them go afterwards', async () => {
    const { id, path } = await engine.subscribe({ active: false });
    const ids = await engine.publish(id, 40);
    await engine.quiet(id);
    expect(engine.receiver.of(path)).toEqual([]);
    expect((await engine.deliveries.get(engine.context, ids[0] ?? '')).status).toBe('held');
    await expect(engine.workflow(ids[0] ?? '').describe()).rejects.toBeInstanceOf(WorkflowNotFoundError);
    await activate(id, true);
    for (const delivery of ids) expect(await engine.ended(delivery)).toMatchObject({ status: 'delivered' });
    expect(new Set(engine.receiver.of(path).map(({ deliveryId }) => deliveryId)).size).toBe(40);
  });

  it('makes a tried delivery wait for a signal, and wakes it when it opens', async () => {
    const { id, path } = await engine.subscribe({ delaysMs: [1, 1] });
    engine.receiver.answer(path, (_, count) => ({ status: count === 1 ? 500 : 200 }));
    const letRetry = engine.holdRetries();
    const [delivery = ''] = await engine.publish(id);
    await engine.failedOnce(delivery);
    await activate(id, false);
    letRetry();
    await eventually(async () => (await engine.delivery(delivery)).waiting_epoch !== null, 'its wait');
    // The row says it a moment before the workflow knows.
    await eventually(
      async () => (await engine.workflow(delivery).query<{ doing: string }>('state')).doing === 'held',
      'the workflow to wait for its endpoint',
    );
    expect((await engine.deliveries.get(engine.context, delivery)).status).toBe('retrying');
    await engine.quiet(id);
    expect(engine.receiver.of(path)).toHaveLength(1);
    await activate(id, true);
    expect(await engine.ended(delivery)).toMatchObject({ status: 'delivered', attempt_count: 2 });
    const types = await engine.historyOf(delivery);
    expect(types.filter((type) => type === 'WorkflowExecutionSignaled')).toHaveLength(1);
  });

  it('loses no wake-up when it opens while a delivery goes to wait', async () => {
    const { id, path } = await engine.subscribe({ delaysMs: [1, 1] });
    engine.receiver.answer(path, (_, count) => ({ status: count === 1 ? 500 : 200 }));
    const letRetry = engine.holdRetries();
    const [delivery = ''] = await engine.publish(id);
    await engine.failedOnce(delivery);
    const parking = gate.close();
    await activate(id, false);
    letRetry();
    // The delivery has read a closed endpoint, and has not yet written that it waits: opening must come after that.
    await parking.arrived;
    const opening = activate(id, true);
    await engine.lockIsWaitedFor();
    parking.open();
    await opening;
    expect(await engine.ended(delivery)).toMatchObject({ status: 'delivered', attempt_count: 2 });
  });

  it('survives being opened and closed again and again', async () => {
    const { id, path } = await engine.subscribe({ delaysMs: Array.from({ length: 19 }, () => 30) });
    engine.receiver.answer(path, (_, count) => ({ status: count % 3 === 0 ? 200 : 500 }));
    const ids = await engine.publish(id, 12);
    for (let round = 0; round < 12; round += 1) {
      await activate(id, round % 2 === 1);
      await sleep(60);
    }
    await activate(id, true);
    for (const delivery of ids) expect(await engine.ended(delivery)).toMatchObject({ status: 'delivered' });
    await eventually(async () => (await engine.outbox()).length === 0, 'an empty outbox');
  });

  it('is opened by a request to retry while a hold lasts', async () => {
    const { id, path } = await engine.subscribe({ delaysMs: [3_600_000] });
    engine.receiver.answer(path, (_, count) =>
      count === 1 ? { status: 503, headers: { 'retry-after': '3600' } } : { status: 200 },
    );
    const [delivery = ''] = await engine.publish(id);
    await eventually(async () => (await engine.delivery(delivery)).attempt_count >= 1, 'the first record');
    const [other = ''] = await engine.publish(id);
    await engine.quiet(id);
    expect((await engine.deliveries.get(engine.context, other)).status).toBe('held');
    await engine.deliveries.retry(engine.context, delivery);
    expect(await engine.ended(delivery)).toMatchObject({ status: 'delivered', attempt_count: 2 });
    expect(await engine.ended(other)).toMatchObject({ status: 'delivered', attempt_count: 1 });
  });

  it('ends the waiting of a retried delivery by cancel, while it is closed', async () => {
    const { id, path } = await engine.subscribe({ delaysMs: [1, 1] });
    engine.receiver.answer(path, () => ({ status: 500 }));
    const letRetry = engine.holdRetries();
    const [delivery = ''] = await engine.publish(id);
    await engine.failedOnce(delivery);
    await activate(id, false);
    letRetry();
    await eventually(async () => (await engine.delivery(delivery)).waiting_epoch !== null, 'its wait');
    await engine.deliveries.cancel(engine.context, delivery);
    expect((await engine.workflow(delivery).result()).status).toBe('canceled');
  });

  it.each([
    ['immediately', (on: DeliveryEngine, id: string) => on.subscriptions.remove(on.context, id)],
    [
      'by the sweep, when it was too much for one request',
      async (on: DeliveryEngine, id: string) => {
        await on.database.transaction({}, (unit) => on.endpoints.remove(unit, id));
        expect((await on.sweep(3_600_000).run())?.delivery_not_canceled).toBe(2);
      },
    ],
  ])('cancels what a deleted subscription leaves, and its workflows end, %s', async (_, remove) => {
    const { id, path } = await engine.subscribe({ delaysMs: [3_600_000] });
    engine.receiver.answer(path, () => ({ status: 500 }));
    const [tried = ''] = await engine.publish(id);
    await engine.failedOnce(tried);
    await activate(id, false);
    const [untried = ''] = await engine.publish(id);
    await remove(engine, id);
    expect((await engine.workflow(tried).result()).status).toBe('canceled');
    expect(await engine.delivery(tried)).toMatchObject({ status: 'canceled' });
    expect(await engine.delivery(untried)).toMatchObject({ status: 'canceled' });
    expect(engine.receiver.of(path)).toHaveLength(1);
  });
});
