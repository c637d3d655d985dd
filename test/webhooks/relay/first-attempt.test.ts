// First attempts by the relay itself: what may go wrong between the attempt, its record and the workflow that goes on.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ServiceError } from '../../../src/platform/errors/service-error.ts';
import { FirstAttemptService } from '../../../src/webhooks/relay/first-attempt.service.ts';
import type { Work } from '../../../src/webhooks/relay/relay.store.ts';
import { createEngine, type DeliveryEngine, eventually } from '../../workflows/delivery-engine.ts';

describe('a first attempt', () => {
  let engine: DeliveryEngine;
  beforeEach(async () => {
    engine = await createEngine();
  });
  afterEach(() => engine.close());

  const work = (deliveryId: string, endpoint: string): Work => ({
    id: deliveryId,
    kind: 'first',
    command: null,
    deliveryId,
    generation: 0,
    tenantId: engine.context.tenant.id,
    endpoint,
    status: 'pending',
    rowGeneration: 0,
    attemptCount: 0,
    ownWorkflow: false,
    eventType: 'wallet.tx.signed',
    host: engine.receiver.host,
    epoch: 0,
    paced: false,
  });

  it('records a POST for as long as it takes, and does not make it again', async () => {
    let refusals = 0;
    const { attempts, attemptRecords } = engine.createAttempts({
      store: (store) => ({
        ...store,
        recordDelivered: async (...args) => {
          refusals += 1;
          if (refusals <= 4) throw new ServiceError('temporarily_unavailable');
          return store.recordDelivered(...args);
        },
      }),
    });
    const { id, path } = await engine.subscribe();
    const [delivery = ''] = await engine.publish(id);
    const first = await new FirstAttemptService({ attempts, attemptRecords }).make(work(delivery, id));
    expect(first).toEqual({ kind: 'done', removed: true });
    expect(engine.receiver.of(path)).toHaveLength(1);
    expect(await engine.delivery(delivery)).toMatchObject({ status: 'delivered', attempt_count: 1 });
  });

  it('leaves the row alone when its endpoint has closed', async () => {
    const { attempts, attemptRecords } = engine.createAttempts();
    const { id, path } = await engine.subscribe({ active: false });
    const [delivery = ''] = await engine.publish(id);
    const first = await new FirstAttemptService({ attempts, attemptRecords }).make(work(delivery, id));
    expect(first).toEqual({ kind: 'release' });
    expect(engine.receiver.of(path)).toEqual([]);
    expect((await engine.outbox()).map(({ kind }) => kind)).toEqual(['first']);
    expect(await engine.delivery(delivery)).toMatchObject({ status: 'pending', waiting_epoch: null });
  });

  it('goes on with a workflow after the relay that made the attempt has died', async () => {
    const { attempts, attemptRecords } = engine.createAttempts();
    const { id, path } = await engine.subscribe({ delaysMs: [500] });
    engine.receiver.answer(path, (_, count) => ({ status: count === 1 ? 500 : 200 }));
    const [delivery = ''] = await engine.publish(id);
    const first = await new FirstAttemptService({ attempts, attemptRecords }).make(work(delivery, id));
    expect(first).toMatchObject({
      kind: 'continue',
      last: { n: 1, outcome: 'http:500' },
      waiting: { kind: 'wait' },
    });
    const { rows } = await engine.database.query('SELECT needs_workflow FROM deliveries WHERE id = $1', [
      delivery,
    ]);
    expect(rows).toEqual([{ needs_workflow: true }]);
    await engine.startProcess();
    expect(await engine.ended(delivery)).toMatchObject({
      status: 'delivered',
      attempt_count: 2,
      started_generation: 0,
    });
    expect(engine.receiver.of(path)).toHaveLength(2);
  });

  it.each([
    ['short', 300, ['MarkerRecorded']],
    ['long', 10_001, ['TimerStarted', 'TimerFired', 'MarkerRecorded']],
  ] as const)('makes a retry after a %s wait in one workflow task', async (_, delay, steps) => {
    const { id, path } = await engine.subscribe({ delaysMs: [delay] });
    engine.receiver.answer(path, (_, count) => ({ status: count === 1 ? 500 : 200 }));
    await engine.startProcess();
    const [delivery = ''] = await engine.publish(id);
    expect(await engine.ended(delivery)).toMatchObject({ status: 'delivered', attempt_count: 2 });
    await engine.workflow(delivery).result();
    expect((await engine.historyOf(delivery)).filter((type) => !/WorkflowTask|Upsert/.test(type))).toEqual([
      'WorkflowExecutionStarted',
      ...steps,
      'WorkflowExecutionCompleted',
    ]);
  });

  it('makes the retries of a slow receiver as activities', async () => {
    const { id, path } = await engine.subscribe({ delaysMs: [10] });
    engine.receiver.answer(path, async (_, count) => {
      if (count === 1) await sleep(1_100);
      return { status: count === 1 ? 500 : 200 };
    });
    await engine.startProcess();
    const [delivery = ''] = await engine.publish(id);
    expect(await engine.ended(delivery)).toMatchObject({ status: 'delivered', attempt_count: 2 });
    expect(await engine.historyOf(delivery)).toContain('ActivityTaskScheduled');
  });

  it('begins with a wait the workflow of a delivery that another process has tried', async () => {
    const { attempts, attemptRecords } = engine.createAttempts();
    const { id, path } = await engine.subscribe({ delaysMs: [3_600_000] });
    engine.receiver.answer(path, () => ({ status: 500 }));
    await engine.database.query('UPDATE endpoints SET permits = 3 WHERE subscription_id = $1', [id]);
    const [delivery = ''] = await engine.publish(id);
    await new FirstAttemptService({ attempts, attemptRecords }).make(work(delivery, id));
    const permits = async () => {
      const { rows } = await engine.database.query<{ permits: number }>(
        'SELECT permits FROM endpoints WHERE subscription_id = $1',
        [id],
      );
      return rows[0]?.permits;
    };
    const before = await permits();
    await engine.startProcess();
    await eventually(async () => (await engine.outbox()).length === 0, 'the start of its workflow');
    await eventually(async () => (await engine.historyOf(delivery)).includes('TimerStarted'), 'its wait');
    expect(await engine.historyOf(delivery)).not.toContain('ActivityTaskScheduled');
    expect(await engine.historyOf(delivery)).not.toContain('MarkerRecorded');
    expect(engine.receiver.of(path)).toHaveLength(1);
    await eventually(async () => (await permits()) === before, 'the return of its permit');
  });

  it('blames no receiver that takes retries for a first attempt that it refuses, and notes that it takes them', async () => {
    const { id, path } = await engine.subscribe({ delaysMs: [1] });
    engine.receiver.answer(path, (_, count) =>
      count % 2 === 1 ? { status: 503, headers: { 'retry-after': '1' } } : { status: 200 },
    );
    const recover = (ago: number) =>
      engine.database.query(
        "UPDATE endpoints SET recovered_at = now() - $2 * interval '1 s' WHERE subscription_id = $1",
        [id, ago],
      );
    const standing = async () => {
      const { rows } = await engine.database.query(
        "SELECT state, failures_in_a_row AS failures, recovered_at > now() - interval '4 s' AS renewed FROM endpoints WHERE subscription_id = $1",
        [id],
      );
      return rows[0];
    };
    await recover(8);
    const { attempts } = engine.createAttempts();
    const [delivery = ''] = await engine.publish(id);
    const first = await attempts.send({ deliveryId: delivery, generation: 0, n: 1 }, { workflow: true });
    expect(first).toMatchObject({ step: { kind: 'wait' }, last: { outcome: 'http:503' } });
    expect(await standing()).toEqual({ state: 'open', failures: 0, renewed: false });
    await eventually(async () => {
      const sent = await attempts.send({ deliveryId: delivery, generation: 0, n: 2 }, { workflow: true });
      return sent.kind === 'settled' && sent.step.kind === 'ended';
    }, 'the retry');
    expect(await standing()).toEqual({ state: 'open', failures: 0, renewed: true });
    await recover(16);
    const [other = ''] = await engine.publish(id);
    await attempts.send({ deliveryId: other, generation: 0, n: 1 }, { workflow: true });
    expect(await standing()).toMatchObject({ state: 'held', failures: 1 });
  });

  it('claims for a paced endpoint when an attempt ends, although its row was locked before', async () => {
    const never = 3_600_000;
    const { id, path } = await engine.subscribe({ delaysMs: [never] });
    await engine.database.query('UPDATE endpoints SET permits = 2 WHERE subscription_id = $1', [id]);
    let answer = () => {};
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    engine.receiver.answer(path, async (_, count) => {
      if (count === 1) await answered;
      return { status: 500 };
    });
    const { claims } = await engine.startProcess({ relay: { poll: never, idlePoll: never } });
    await engine.publish(id);
    await eventually(() => engine.receiver.of(path).length === 1, 'the first attempt');
    await engine.database.transaction({}, async (unit) => {
      await unit.query('SELECT 1 FROM endpoints WHERE subscription_id = $1 FOR UPDATE', [id]);
      const before = claims();
      await engine.publish(id);
      // The notification of the second delivery makes a claim, which takes nothing.
      await eventually(() => claims() > before, 'the claim');
    });
    expect(engine.receiver.of(path)).toHaveLength(1);
    answer();
    await eventually(() => engine.receiver.of(path).length === 2, 'the second attempt');
  });

  it('goes on with first attempts while Temporal is away, and with the others when it is back', async () => {
    let away = true;
    const { start } = engine.starter;
    engine.starter.start = async (request) => {
      if (away) throw new Error('14 UNAVAILABLE');
      return start(request);
    };
    const bad = await engine.subscribe({ delaysMs: [1, 1] });
    const good = await engine.subscribe();
    engine.receiver.answer(bad.path, (_, count) => ({ status: count <= 10 ? 500 : 200 }));
    const refused = await engine.publish(bad.id, 10);
    await engine.startProcess();
    await eventually(() => engine.failures.length >= 3, 'failed starts');
    // A pause before each of them would outlast the case.
    for (let n = 0; n < 30; n += 1) {
      const [delivery = ''] = await engine.publish(good.id);
      expect(await engine.ended(delivery)).toMatchObject({ status: 'delivered', attempt_count: 1 });
    }
    // What has had its first attempt waits for its workflow, and is not tried again here.
    expect(engine.receiver.of(bad.path)).toHaveLength(10);
    await eventually(async () => {
      const rows = await engine.outbox();
      return rows.length === 10 && rows.every(({ kind }) => kind === 'start');
    }, 'only those in the outbox');
    away = false;
    for (const delivery of refused) {
      expect(await engine.ended(delivery)).toMatchObject({ status: 'delivered', attempt_count: 2 });
    }
  });

  it('tells a workflow of a request to retry that came before it was known', async () => {
    const { id, path } = await engine.subscribe({ delaysMs: [3_600_000] });
    engine.receiver.answer(path, (_, count) => ({ status: count === 1 ? 500 : 200 }));
    const [delivery = ''] = await engine.publish(id);
    const { attempts, attemptRecords } = engine.createAttempts();
    await new FirstAttemptService({ attempts, attemptRecords }).make(work(delivery, id));
    await engine.starter.start({
      deliveryId: delivery,
      generation: 0,
      tenantId: engine.context.tenant.id,
      subscriptionId: id,
      eventType: 'wallet.tx.signed',
      host: engine.receiver.host,
      n: 2,
      local: false,
      waiting: { kind: 'wait', delayMs: 3_600_000 },
    });
    await engine.deliveries.retry(engine.context, delivery);
    await engine.startProcess();
    expect(await engine.ended(delivery)).toMatchObject({ status: 'delivered', attempt_count: 2 });
  });
});
