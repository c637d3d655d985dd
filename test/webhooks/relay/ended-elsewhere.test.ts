// A delivery that another attempt ends while its workflow waits: the workflow hears of it and ends, too.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { AttemptReport } from '../../../src/webhooks/deliveries/attempt.ts';
import { createEngine, type DeliveryEngine, eventually } from '../../workflows/delivery-engine.ts';

const DELIVERED = { kind: 'delivered', statusCode: 200 } as const;
const REFUSED = { kind: 'rejected', statusCode: 400, errorClass: 'rejected', error: 'http:400' } as const;

describe('the workflow of a delivery that another attempt has ended', () => {
  let engine: DeliveryEngine;
  beforeEach(async () => {
    engine = await createEngine();
  });
  afterEach(() => engine.close());

  const activate = (id: string, active: boolean) =>
    engine.subscriptions.update(engine.context, id, { active });

  /** Records a POST of a process that was given up. */
  const recordLate = (
    deliveryId: string,
    n: number,
    outcome: AttemptReport['outcome'],
    { workflow = true } = {},
  ) =>
    engine.createAttempts().attemptRecords.record(
      {
        deliveryId,
        n,
        outcome,
        generation: 0,
        probe: false,
        startedAt: '2026-01-01T00:00:00.000Z',
        durationMs: 5,
        phases: { dns_ms: null, connect_ms: null, tls_ms: null, first_byte_ms: null, total_ms: 5 },
        retryAfterSeconds: null,
      },
      { workflow },
    );

  const isAsleep = (delivery: string) =>
    eventually(
      async () => (await engine.starter.stateOf({ deliveryId: delivery, generation: 0 })) === 'waiting',
      'its wait',
    );

  /** A delivery whose workflow has tried once and waits for its inactive endpoint. */
  const parked = async () => {
    const { id, path } = await engine.subscribe({ delaysMs: Array.from({ length: 20 }, () => 300) });
    engine.receiver.answer(path, () => ({ status: 500 }));
    await engine.startProcess();
    const [delivery = ''] = await engine.publish(id);
    await engine.failedOnce(delivery);
    await activate(id, false);
    await eventually(async () => (await engine.delivery(delivery)).waiting_epoch !== null, 'its wait');
    await isAsleep(delivery);
    return { id, delivery };
  };

  it('ends when the endpoint for which it waits opens', async () => {
    const { id, delivery } = await parked();
    await recordLate(delivery, (await engine.attempts(delivery)).length + 1, DELIVERED);
    expect(await engine.delivery(delivery)).toMatchObject({ status: 'delivered' });
    await activate(id, true);
    expect(await engine.workflow(delivery).result()).toMatchObject({ status: 'delivered' });
    await eventually(async () => (await engine.outbox()).length === 0, 'an empty outbox');
  });

  it('ends when the endpoint for which it waits is deleted', async () => {
    const { id, delivery } = await parked();
    await recordLate(delivery, (await engine.attempts(delivery)).length + 1, DELIVERED);
    await engine.subscriptions.remove(engine.context, id);
    expect(await engine.sweep(120_000).run()).toMatchObject({
      delivery_not_canceled: 0,
      work_not_removed: 1,
    });
    expect(await engine.workflow(delivery).result()).toMatchObject({ status: 'delivered' });
  });

  it('ends though the endpoint for which it waits stays closed, when a relay has delivered', async () => {
    const { delivery } = await parked();
    const n = (await engine.attempts(delivery)).length + 1;
    await recordLate(delivery, n, DELIVERED, { workflow: false });
    expect(await engine.workflow(delivery).result()).toMatchObject({ status: 'delivered' });
  });

  it('reads the row again when the delivery ends while it is parked', async () => {
    const { id } = await engine.subscribe({ active: false });
    const [delivery = ''] = await engine.publish(id);
    const { attempts } = engine.createAttempts({
      store: (store) => ({
        ...store,
        shareEndpoint: async (unit, subscriptionId) => {
          await engine.deliveries.cancel(engine.context, delivery).catch(() => undefined);
          return store.shareEndpoint(unit, subscriptionId);
        },
      }),
    });
    const sent = await attempts.send({ deliveryId: delivery, generation: 0, n: 1 }, { workflow: true });
    expect(sent).toMatchObject({ kind: 'settled', step: { kind: 'ended', status: 'canceled' } });
  });

  it.each([
    ['a late 2xx', DELIVERED, 'delivered'],
    ['a late refusal for good', REFUSED, 'failed'],
  ] as const)('ends after %s, not only when its next attempt is due', async (_, outcome, status) => {
    const { id, path } = await engine.subscribe({ delaysMs: [3_600_000] });
    engine.receiver.answer(path, () => ({ status: 500 }));
    await engine.startProcess();
    const [delivery = ''] = await engine.publish(id);
    await engine.failedOnce(delivery);
    await isAsleep(delivery);
    await recordLate(delivery, 1, outcome);
    expect(await engine.workflow(delivery).result()).toMatchObject({ status });
    expect(await engine.attempts(delivery)).toHaveLength(2);
  });

  it('gets no command where it has made the last attempt itself', async () => {
    const { id } = await engine.subscribe();
    const [delivery = ''] = await engine.publish(id);
    await engine.database.query('DELETE FROM outbox');
    await recordLate(delivery, 1, DELIVERED);
    expect(await engine.delivery(delivery)).toMatchObject({ status: 'delivered', started_generation: 0 });
    expect(await engine.outbox()).toEqual([]);
  });
});
