// Things that break on the way: the record, the workflow, the relay, Temporal's answer. Nothing is lost, and nothing is
// sent twice that is known to have been sent.
import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ServiceError } from '../../../src/platform/errors/service-error.ts';
import type { AttemptStore } from '../../workflows/delivery-engine.ts';
import { createEngine, type DeliveryEngine, eventually } from '../../workflows/delivery-engine.ts';

describe('faults', () => {
  let engine: DeliveryEngine;
  beforeEach(async () => {
    engine = await createEngine();
  });
  afterEach(() => engine.close());

  /** A store whose records fail as long as `failing` says so. */
  const failingRecords =
    (failing: () => boolean) =>
    (store: AttemptStore): AttemptStore => {
      const guard = <A extends unknown[], R>(call: (...args: A) => Promise<R>) => {
        return async (...args: A): Promise<R> => {
          if (failing()) throw new ServiceError('temporarily_unavailable');
          return call(...args);
        };
      };
      return {
        ...store,
        recordDelivered: guard(store.recordDelivered),
        insertAttempts: guard(store.insertAttempts),
      };
    };

  it('does not send again when the database is away after the POST', async () => {
    let failing = false;
    let refused = 0;
    await engine.startProcess({
      store: failingRecords(() => {
        if (failing) refused += 1;
        return failing;
      }),
    });
    const { id, path } = await engine.subscribe({ delaysMs: [200] });
    // The first attempt has no workflow; the record of the second one fails.
    engine.receiver.answer(path, (_, count) => {
      failing = count === 2;
      return { status: count === 1 ? 500 : 200 };
    });
    const [delivery = ''] = await engine.publish(id);
    await eventually(() => refused >= 3, 'three failed records');
    const state = await engine.workflow(delivery).query<{ doing: string }>('state');
    expect(state.doing).toBe('recording');
    failing = false;
    expect(await engine.ended(delivery)).toMatchObject({ status: 'delivered', attempt_count: 2 });
    expect(engine.receiver.of(path)).toHaveLength(2);
  });

  it('does not send again an attempt that was recorded before its worker died', async () => {
    await engine.startProcess();
    const { id, path } = await engine.subscribe({ active: false, delaysMs: [3_600_000] });
    const [delivery = ''] = await engine.publish(id);
    await engine.subscriptions.update(engine.context, id, { active: true });
    await engine.ended(delivery);
    // The activity is given again what it had done: its answer got lost.
    const { attempts } = engine.createAttempts();
    const again = await attempts.send({ deliveryId: delivery, generation: 0, n: 1 }, { workflow: true });
    expect(again).toMatchObject({ kind: 'settled', step: { kind: 'ended', status: 'delivered' } });
    expect(engine.receiver.of(path)).toHaveLength(1);
  });

  it('waits out the rest when a recorded failure is asked for again, and counts it once', async () => {
    const { id, path } = await engine.subscribe({ delaysMs: [3_600_000] });
    engine.receiver.answer(path, () => ({ status: 500 }));
    const [delivery = ''] = await engine.publish(id);
    const { attempts } = engine.createAttempts();
    const request = { deliveryId: delivery, generation: 0, n: 1 };
    const first = await attempts.send(request, { workflow: true });
    const again = await attempts.send(request, { workflow: true });
    for (const result of [first, again]) {
      expect(result).toMatchObject({ kind: 'settled', step: { kind: 'wait' }, last: { n: 1 } });
      const delay = result.kind === 'settled' && result.step.kind === 'wait' ? result.step.delayMs : 0;
      expect(delay).toBeGreaterThan(3_500_000);
    }
    expect(engine.receiver.of(path)).toHaveLength(1);
    expect(await engine.delivery(delivery)).toMatchObject({ attempt_count: 1, failed_attempts: 1 });
  });

  it('lets a 2xx win over the failure that another worker recorded under the same number', async () => {
    const { id } = await engine.subscribe({ delaysMs: [3_600_000] });
    const [delivery = ''] = await engine.publish(id);
    const { attemptRecords } = engine.createAttempts();
    const report = {
      deliveryId: delivery,
      generation: 0,
      n: 1,
      probe: false,
      startedAt: new Date().toISOString(),
      durationMs: 5,
      phases: { dns_ms: null, connect_ms: null, tls_ms: null, first_byte_ms: null, total_ms: 5 },
      retryAfterSeconds: null,
    };
    const failed = {
      kind: 'retry',
      statusCode: 500,
      errorClass: 'status',
      error: 'http:500',
      hold: false,
    } as const;
    const delivered = { kind: 'delivered', statusCode: 200 } as const;
    await attemptRecords.record({ ...report, outcome: failed }, { workflow: true });
    await attemptRecords.record({ ...report, outcome: delivered }, { workflow: true });
    await attemptRecords.record({ ...report, outcome: failed }, { workflow: true });
    expect(await engine.delivery(delivery)).toMatchObject({ status: 'delivered', attempt_count: 1 });
    expect((await engine.attempts(delivery)).map(({ outcome }) => outcome)).toEqual(['delivered']);
  });

  it('takes over what a dead relay had claimed', async () => {
    const { id, path } = await engine.subscribe();
    const ids = await engine.publish(id, 5);
    const dead = await engine.relayStore.register(engine.database, randomUUID(), 'worker');
    const claimed = await engine.relayStore.claim(engine.database, dead, [
      { tenantId: engine.context.tenant.id, endpoint: id, quota: 5, retries: 0, late: false },
    ]);
    expect(claimed).toHaveLength(5);
    await engine.database.query(`UPDATE relays SET seen_at = now() + interval '1 hour' WHERE instance = $1`, [
      dead.instance,
    ]);
    expect(await engine.relayStore.takeOver(engine.database)).toBe(0);
    await engine.startProcess();
    expect(engine.receiver.of(path)).toEqual([]);
    await engine.database.query(
      `UPDATE relays SET seen_at = now() - interval '6 seconds' WHERE instance = $1`,
      [dead.instance],
    );
    for (const delivery of ids) expect(await engine.ended(delivery)).toMatchObject({ status: 'delivered' });
    expect(engine.receiver.of(path)).toHaveLength(5);
    expect(await engine.relayStore.beat(engine.database, dead)).toBe(false);
  });

  it('counts a workflow that was started before as handed over', async () => {
    const { id, path } = await engine.subscribe();
    await engine.startProcess({ relay: false });
    const [delivery = ''] = await engine.publish(id);
    const request = {
      deliveryId: delivery,
      generation: 0,
      tenantId: engine.context.tenant.id,
      subscriptionId: id,
      eventType: 'wallet.tx.signed',
      host: 'localhost',
      n: 1,
      local: false,
    };
    expect(await engine.starter.start(request)).not.toBe('exists');
    await engine.ended(delivery);
    expect(await engine.starter.start(request)).toBe('exists');
    await engine.startProcess({ worker: false });
    await eventually(async () => (await engine.outbox()).length === 0, 'an empty outbox');
    expect(engine.receiver.of(path)).toHaveLength(1);
  });

  it('starts an overdue delivery again whose workflow is gone', async () => {
    await engine.startProcess();
    const { id, path } = await engine.subscribe({ delaysMs: [3_600_000] });
    engine.receiver.answer(path, (_, count) => ({ status: count === 1 ? 500 : 200 }));
    const [delivery = ''] = await engine.publish(id);
    await engine.failedOnce(delivery);
    await engine.workflow(delivery).terminate('by an operator');
    expect(await engine.sweep(120_000).run()).toMatchObject({ delivery_overdue: 0 });
    await engine.database.query(`UPDATE deliveries SET next_attempt_at = now() - interval '3 minutes'`);
    expect(await engine.sweep(120_000).run()).toMatchObject({ delivery_overdue: 1 });
    expect(await engine.ended(delivery)).toMatchObject({
      status: 'delivered',
      generation: 1,
      attempt_count: 2,
    });
    expect(engine.receiver.of(path)).toHaveLength(2);
  });

  it('leaves an overdue delivery alone whose workflow runs', async () => {
    await engine.startProcess();
    const { id, path } = await engine.subscribe({ delaysMs: [200] });
    engine.receiver.answer(path, (_, count) =>
      count === 1 ? { status: 500 } : { status: 200, delayMs: 1_500 },
    );
    const [delivery = ''] = await engine.publish(id);
    await eventually(async () => (await engine.delivery(delivery)).started_generation === 0, 'its start');
    // It may be signaled, and is not started again.
    expect(await engine.sweep(0).run()).toHaveProperty('delivery_overdue');
    expect(await engine.ended(delivery)).toMatchObject({ generation: 0 });
  });

  /** A delivery that waits for its inactive endpoint, however late the update comes; `comeBack` activates it. */
  const park = async () => {
    await engine.startProcess();
    const { id, path } = await engine.subscribe({ delaysMs: Array.from({ length: 20 }, () => 300) });
    let status = 500;
    engine.receiver.answer(path, () => ({ status }));
    const [delivery = ''] = await engine.publish(id);
    await engine.failedOnce(delivery);
    await engine.subscriptions.update(engine.context, id, { active: false });
    await eventually(async () => (await engine.delivery(delivery)).waiting_epoch !== null, 'its wait');
    const comeBack = () => {
      status = 200;
      return engine.subscriptions.update(engine.context, id, { active: true });
    };
    return { delivery, comeBack };
  };

  it('wakes a waiting delivery whose outbox row is missing', async () => {
    const { delivery, comeBack } = await park();
    await engine.database.query('DELETE FROM outbox');
    await comeBack();
    expect(await engine.sweep(3_600_000).run()).toMatchObject({ delivery_not_woken: 1 });
    expect(await engine.ended(delivery)).toMatchObject({ status: 'delivered' });
  });

  it('starts a woken delivery again whose workflow is gone', async () => {
    const { delivery, comeBack } = await park();
    await engine.workflow(delivery).terminate('by an operator');
    await comeBack();
    expect(await engine.ended(delivery)).toMatchObject({ status: 'delivered', generation: 1 });
  });

  it('keeps everything while Temporal does not answer', async () => {
    let away = true;
    const { start } = engine.starter;
    engine.starter.start = async (request) => {
      if (away) throw new Error('14 UNAVAILABLE');
      return start(request);
    };
    await engine.startProcess();
    const { id, path } = await engine.subscribe({ delaysMs: [200] });
    // Fewer failures than close an endpoint.
    engine.receiver.answer(path, (_, count) => ({ status: count <= 8 ? 500 : 200 }));
    const ids = await engine.publish(id, 8);
    await eventually(() => engine.failures.length >= 3, 'failed starts');
    expect(await engine.outbox()).toHaveLength(ids.length);
    away = false;
    for (const delivery of ids) expect(await engine.ended(delivery)).toMatchObject({ status: 'delivered' });
    expect(engine.receiver.of(path)).toHaveLength(2 * ids.length);
  });
});
