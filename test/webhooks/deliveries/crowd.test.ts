// The crowd of an endpoint: many early retries that its one workflow keeps. No delivery is lost to it, also when the
// delivery or its endpoint changes meanwhile.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { load } from '../../../src/webhooks/deliveries/attempt.store.ts';
import type { AttemptReport } from '../../../src/webhooks/deliveries/attempt.ts';
import { workflowOf } from '../../../src/webhooks/deliveries/delivery.ts';
import {
  createEngine,
  type DeliveryEngine,
  type EngineOptions,
  eventually,
} from '../../workflows/delivery-engine.ts';

const FAILED = {
  kind: 'retry',
  statusCode: 500,
  errorClass: 'status',
  error: 'http:500',
  hold: false,
} as const;
const NOT_SOON = 300_000;
const NO_ID = '00000000-0000-0000-0000-000000000000';

describe('the crowd of an endpoint', () => {
  let engine: DeliveryEngine;
  beforeEach(async () => {
    engine = await createEngine();
  });
  afterEach(() => engine.close());

  const startedAt = new Date().toISOString();
  const reportOf = (deliveryId: string): AttemptReport => ({
    deliveryId,
    generation: 0,
    n: 1,
    probe: false,
    startedAt,
    durationMs: 5,
    phases: { dns_ms: null, connect_ms: null, tls_ms: null, first_byte_ms: null, total_ms: 5 },
    outcome: FAILED,
    retryAfterSeconds: null,
  });
  /** Records failures of first attempts that arrive together. */
  const fail = async (deliveries: readonly string[], options: EngineOptions = {}) => {
    const { attemptRecords } = engine.createAttempts({ few: 2, ...options });
    const reports = deliveries.map(reportOf);
    const owners = await load(engine.database, reports);
    return Promise.all(
      reports.map((report, index) =>
        attemptRecords.record(report, { workflow: false, owner: owners[index] }),
      ),
    );
  };
  const crowdOf = async (id: string, count: number) => {
    const deliveries = await engine.publish(id, count);
    await fail(deliveries);
    return deliveries;
  };
  const crowd = async () =>
    (
      await engine.database.query<{ id: string; due: boolean }>(
        'SELECT delivery_id AS id, due_at <= now() AS due FROM crowded_deliveries ORDER BY delivery_id',
      )
    ).rows;
  const calls = async () =>
    (await engine.database.query<{ entity_id: string }>('SELECT entity_id FROM workflow_commands')).rows
      .length;
  const kinds = async () => (await engine.outbox()).map(({ kind }) => kind);

  it('takes the early retries that are more than a few, and calls its workflow', async () => {
    const { id } = await engine.subscribe({ delaysMs: [NOT_SOON] });
    const few = await crowdOf(id, 2);
    expect(await crowd()).toEqual([]);
    expect(await kinds()).toEqual(['first', 'first']);
    for (const delivery of few)
      expect(await engine.delivery(delivery)).toMatchObject({ status: 'retrying', needs_workflow: true });
    await engine.database.query('DELETE FROM workflow_commands');
    const many = await crowdOf(id, 3);
    expect((await crowd()).map((row) => row.id)).toEqual([...many].sort());
    for (const delivery of many)
      expect(await engine.delivery(delivery)).toMatchObject({ status: 'retrying', needs_workflow: false });
    expect(await engine.outbox()).toHaveLength(2);
    const workflows = await Promise.all(
      [few[0], many[0]].map(async (delivery = '') =>
        workflowOf(await engine.deliveries.get(engine.context, delivery), { uiUrl: '', namespace: '' }),
      ),
    );
    expect(workflows.map((workflow) => workflow.id)).toEqual([`endpoint/${id}`, `endpoint/${id}`]);
    expect(await calls()).toBeGreaterThan(0);
  });

  it('judges its endpoint once for failures that arrive together, and counts each of them', async () => {
    const { id } = await engine.subscribe({ delaysMs: [NOT_SOON] });
    const judged: number[] = [];
    const deliveries = await engine.publish(id, 20);
    const twice = [...deliveries, ...deliveries];
    const recorded = await fail(twice, {
      endpoints: {
        noteFailures: (unit, endpoint, failures) => {
          judged.push(failures.length);
          return engine.endpoints.noteFailures(unit, endpoint, failures);
        },
      },
    });
    expect(judged).toEqual([20]);
    expect(recorded.map(({ crowded, last }) => [crowded, last.n])).toEqual(twice.map(() => [true, 1]));
    const { rows } = await engine.database.query(
      'SELECT failures_in_a_row AS failures FROM endpoints WHERE subscription_id = $1',
      [id],
    );
    expect(rows).toEqual([{ failures: 20 }]);
  });

  it('is sent when it is due, each delivery once, and the fourth failure gives a delivery its own workflow', async () => {
    engine.startRunner();
    await engine.startProcess({ few: 2 });
    const { id, path } = await engine.subscribe({ delaysMs: [300, 300, 300, 300, 300] });
    const posts = new Map<string, number>();
    const [stubborn = '', ...others] = await engine.publish(id, 12);
    engine.receiver.answer(path, ({ deliveryId }) => {
      const count = (posts.get(deliveryId) ?? 0) + 1;
      posts.set(deliveryId, count);
      return { status: count > (deliveryId === stubborn ? 4 : 1) ? 200 : 500 };
    });
    for (const delivery of [stubborn, ...others])
      await eventually(
        async () => (await engine.delivery(delivery)).status === 'delivered',
        'the delivery of each',
      );
    expect(others.map((delivery) => posts.get(delivery))).toEqual(others.map(() => 2));
    expect(posts.get(stubborn)).toBe(5);
    expect(await engine.delivery(stubborn)).toMatchObject({ started_generation: 0, attempt_count: 5 });
    await engine.quiet(id);
    expect(await crowd()).toEqual([]);
    expect(await engine.outbox()).toEqual([]);
  });

  it('takes no delivery that has a workflow, whose attempt a relay recorded late', async () => {
    const { id } = await engine.subscribe({ delaysMs: [NOT_SOON] });
    const deliveries = await engine.publish(id, 3);
    await engine.database.query('UPDATE deliveries SET started_generation = 0 WHERE id = $1', [
      deliveries[0],
    ]);
    await fail(deliveries, { few: 1 });
    expect((await crowd()).map((row) => row.id)).toEqual(deliveries.slice(1).sort());
  });

  it('gets no second attempt of a relay that died when it had started the workflow', async () => {
    const { id, path } = await engine.subscribe({ delaysMs: [NOT_SOON] });
    const [delivery = ''] = await crowdOf(id, 1);
    // The workflow has marked the row by an attempt of its own; the row of the outbox is still that of the first one.
    await engine.database.query(
      `UPDATE deliveries SET started_generation = 0, needs_workflow = false, next_attempt_at = now() WHERE id = $1`,
      [delivery],
    );
    expect(await kinds()).toEqual(['first']);
    await engine.startProcess({ worker: false });
    await eventually(async () => (await engine.outbox()).length === 0, 'the hand-over');
    expect(engine.receiver.of(path)).toEqual([]);
    expect(await engine.attempts(delivery)).toHaveLength(1);
  });

  it('is recorded once more when another POST takes its number', async () => {
    const { id } = await engine.subscribe({ delaysMs: [NOT_SOON] });
    const deliveries = await engine.publish(id, 3);
    let taken = 0;
    const recorded = await fail(deliveries, {
      store: (store) => ({
        ...store,
        insertAttempts: (unit, made) => {
          taken += 1;
          return taken > 1 ? store.insertAttempts(unit, made) : Promise.resolve(made.map(() => undefined));
        },
      }),
    });
    expect(recorded.map(({ last }) => last.n)).toEqual([1, 1, 1]);
    expect(await crowd()).toHaveLength(3);
  });

  it.each([
    ['retries it', 'first'],
    ['cancels it', undefined],
  ])('lets a delivery go when a person %s', async (_, kind) => {
    const { id } = await engine.subscribe({ delaysMs: [NOT_SOON] });
    const [delivery = '', ...others] = await crowdOf(id, 3);
    if (kind === undefined) await engine.deliveries.cancel(engine.context, delivery);
    else await engine.deliveries.retry(engine.context, delivery);
    expect((await crowd()).map((row) => row.id)).toEqual([...others].sort());
    expect(await engine.outbox()).toMatchObject(kind === undefined ? [] : [{ kind, delivery_id: delivery }]);
  });

  it('does not wait for its time when its host is released', async () => {
    const { id } = await engine.subscribe({ delaysMs: [NOT_SOON] });
    await crowdOf(id, 3);
    await engine.database.transaction({}, (unit) =>
      engine.hostHolds.hasten(unit, [id], { after: NO_ID, limit: 10 }),
    );
    expect(await crowd()).toEqual([]);
    expect(await kinds()).toEqual(['first', 'first', 'first']);
  });

  it('misses no delivery that joins while those that are due are let go', async () => {
    const { id } = await engine.subscribe({ delaysMs: [NOT_SOON] });
    await crowdOf(id, 3);
    await engine.database.query('UPDATE crowded_deliveries SET due_at = now()');
    await engine.database.query('DELETE FROM workflow_commands');
    const name = { tenantId: engine.context.tenant.id, subscriptionId: id };
    let joined: Promise<string[]> | undefined;
    await engine.database.transaction({}, async (unit) => {
      await unit.query('SELECT 1 FROM endpoints WHERE subscription_id = $1 FOR NO KEY UPDATE', [id]);
      joined = crowdOf(id, 3);
      await engine.lockIsWaitedFor();
      await unit.query('DELETE FROM crowded_deliveries WHERE subscription_id = $1', [id]);
    });
    await joined;
    // The crowd was empty when they joined, so the workflow is called, though it had one when they began to.
    expect(await calls()).toBe(1);
    expect(await engine.recoveries.read(name)).toMatchObject({ crowd: 3, step: { kind: 'wait' } });
  });

  it('is found by the sweep when its workflow has lost the call', async () => {
    const { id } = await engine.subscribe({ delaysMs: [NOT_SOON] });
    await crowdOf(id, 3);
    await engine.database.query('DELETE FROM workflow_commands');
    expect(await engine.sweep().run()).toMatchObject({ crowd_overdue: 0 });
    await engine.database.query("UPDATE crowded_deliveries SET due_at = now() - interval '1 minute'");
    expect(await engine.sweep().run()).toMatchObject({ crowd_overdue: 1 });
    expect(await calls()).toBe(1);
    expect(await engine.sweep().run()).toMatchObject({ crowd_overdue: 0 });
    engine.startRunner();
    await engine.startProcess();
    await eventually(
      async () => engine.receiver.of(`/${id}`).length >= 0 && (await crowd()).length === 0,
      'its release',
    );
  });
});
