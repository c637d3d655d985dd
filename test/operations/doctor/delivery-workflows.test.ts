// Deliveries and their workflows held against each other, on a real Temporal: what is gone is found and started again,
// what has no row ends.

import { randomUUID } from 'node:crypto';
import { afterAll, describe, expect, inject, it } from 'vitest';
import { createDeliveryWorkflowCheck } from '../../../src/operations/doctor/delivery-workflows.check.ts';
import { DoctorService } from '../../../src/operations/doctor/doctor.service.ts';
import type { Finding, Outcome } from '../../../src/operations/doctor/finding.ts';
import { newId } from '../../../src/platform/database/ids.ts';
import {
  DELIVERY_WORKFLOW,
  deliveryWorkflowId,
  parseDeliveryWorkflowId,
} from '../../../src/platform/temporal/names.ts';
import { createWorkflowInspector } from '../../../src/platform/temporal/workflow-inspection.client.ts';
import * as deliveryInspectionStore from '../../../src/webhooks/relay/delivery-inspection.store.ts';
import { restart } from '../../../src/webhooks/rows/delivery-row.store.ts';
import { makeNamespace } from '../../setup/namespace.ts';
import { createEngine, eventually } from '../../workflows/delivery-engine.ts';

const HOUR = 3_600_000;

// An examination looks at all workflows of a namespace.
const namespace = await makeNamespace('doctor');
const engine = await createEngine({ temporal: { address: inject('temporalAddress'), namespace } });
await engine.startProcess();
afterAll(() => engine.close());

function createDoctor() {
  const check = createDeliveryWorkflowCheck({
    database: engine.database,
    store: deliveryInspectionStore,
    inspector: createWorkflowInspector({ client: engine.client }),
    restart: ({ id, generation }) =>
      restart(engine.database, { deliveryId: id, generation, outboxId: newId() }),
    pace: { page: 3, atOnce: 4, settle: 1_500, seen: 20_000, poll: 50 },
  });
  return new DoctorService({ checks: [check] });
}

async function examine(fix: boolean) {
  const findings: (Finding & { outcome: Outcome })[] = [];
  const reports = await createDoctor().examine(
    { fix },
    { onFinding: (finding, outcome) => findings.push({ ...finding, outcome }) },
  );
  expect(reports[0]?.failure).toBeNull();
  return { findings, report: reports[0] };
}

async function listed(): Promise<string[]> {
  const ids: string[] = [];
  for await (const page of createWorkflowInspector({ client: engine.client }).listRunning(DELIVERY_WORKFLOW))
    ids.push(...page);
  return ids;
}

/** A delivery that failed once and waits for an hour. */
async function waitingDelivery(subscriptionId: string): Promise<string> {
  const [id = ''] = await engine.publish(subscriptionId);
  await engine.failedOnce(id);
  await eventually(async () => (await listed()).includes(deliveryWorkflowId(id, 0)), 'Temporal to list it');
  return id;
}

describe('the examination of deliveries', () => {
  it('finds nothing while everything runs: waiting, parked, ended and new ones', async () => {
    const { id: slow, path } = await engine.subscribe({ delaysMs: [HOUR] });
    engine.receiver.answer(path, () => ({ status: 500 }));
    const { id: fast } = await engine.subscribe();
    const waiting = [await waitingDelivery(slow), await waitingDelivery(slow), await waitingDelivery(slow)];
    const during = engine.publish(fast, 30);
    const { findings, report } = await examine(false);
    expect(findings).toEqual([]);
    expect(report?.looked).toBeGreaterThanOrEqual(waiting.length);
    for (const id of await during) await engine.ended(id);
  });

  it('finds a delivery whose workflow was terminated long before its next attempt, and starts it again', async () => {
    const { id: subscription, path } = await engine.subscribe({ delaysMs: [HOUR] });
    engine.receiver.answer(path, () => ({ status: 500 }));
    const id = await waitingDelivery(subscription);
    await engine.workflow(id).terminate('by a test');
    await eventually(async () => !(await listed()).includes(deliveryWorkflowId(id, 0)), "Temporal's list");

    const seen = await examine(false);
    expect(seen.findings).toMatchObject([
      { code: 'workflow_missing', subject: deliveryWorkflowId(id, 0), outcome: 'left' },
    ]);
    expect((await engine.delivery(id)).generation).toBe(0);

    const mended = await examine(true);
    expect(mended.findings).toMatchObject([
      { code: 'workflow_missing', subject: deliveryWorkflowId(id, 0), outcome: 'mended' },
    ]);
    expect((await engine.workflow(id, 1).describe()).status.name).toBe('RUNNING');
    expect((await examine(false)).findings).toEqual([]);
  });

  it('does not wait for the workflow of a delivery whose endpoint is closed: it comes with the opening', async () => {
    const { id: subscription, path } = await engine.subscribe({ delaysMs: [HOUR] });
    engine.receiver.answer(path, () => ({ status: 500 }));
    const id = await waitingDelivery(subscription);
    await engine.subscriptions.update(engine.context, subscription, { active: false });
    await engine.workflow(id).terminate('by a test');
    await eventually(async () => !(await listed()).includes(deliveryWorkflowId(id, 0)), "Temporal's list");
    await engine.database.query(
      `UPDATE deliveries SET status = 'retrying', next_attempt_at = now() + interval '1 hour', waiting_epoch = NULL, completed_at = NULL
       WHERE id = $1`,
      [id],
    );
    // Its retry may have met the closed endpoint already.
    await engine.database.query(`DELETE FROM outbox WHERE delivery_id = $1 AND kind = 'wake'`, [id]);
    const { findings } = await examine(true);
    expect(findings).toMatchObject([{ code: 'workflow_missing', outcome: 'mended' }]);
    expect(await engine.outbox()).toMatchObject([{ kind: 'start', delivery_id: id }]);
    expect((await examine(false)).findings).toEqual([]);
    await engine.deliveries.cancel(engine.context, id);
  });

  it('ends a workflow whose delivery has ended without it', async () => {
    const { id: subscription, path } = await engine.subscribe({ delaysMs: [HOUR] });
    engine.receiver.answer(path, () => ({ status: 500 }));
    const id = await waitingDelivery(subscription);
    await engine.database.query(
      `UPDATE deliveries SET status = 'canceled', completed_at = now(), next_attempt_at = NULL WHERE id = $1`,
      [id],
    );
    const subject = deliveryWorkflowId(id, 0);
    expect((await examine(false)).findings).toMatchObject([{ code: 'workflow_without_row', subject }]);
    expect((await examine(true)).findings).toMatchObject([{ subject, outcome: 'mended' }]);
    expect((await engine.workflow(id).describe()).status.name).not.toBe('RUNNING');
  });

  it('ends a workflow whose delivery is not there any more', async () => {
    const { id: subscription, path } = await engine.subscribe({ delaysMs: [HOUR] });
    engine.receiver.answer(path, () => ({ status: 500 }));
    const id = await waitingDelivery(subscription);
    await engine.database.query('DELETE FROM deliveries WHERE id = $1', [id]);
    const subject = deliveryWorkflowId(id, 0);
    expect((await examine(true)).findings).toMatchObject([
      { code: 'workflow_without_row', subject, outcome: 'mended' },
    ]);
    expect((await engine.workflow(id).describe()).status.name).not.toBe('RUNNING');
  });

  it('finds a workflow that waits for an endpoint of which an older row knows nothing, and has it read the row', async () => {
    const { id: subscription, path } = await engine.subscribe({ delaysMs: [1_000] });
    engine.receiver.answer(path, (_, count) => ({ status: count < 2 ? 500 : 204 }));
    const [id = ''] = await engine.publish(subscription);
    await eventually(async () => (await engine.delivery(id)).attempt_count >= 1, 'the first attempt');
    await engine.subscriptions.update(engine.context, subscription, { active: false });
    await eventually(async () => (await engine.delivery(id)).waiting_epoch !== null, 'its wait');
    await eventually(async () => (await listed()).includes(deliveryWorkflowId(id, 0)), 'Temporal to list it');
    // As a restored database has it: no attempt was made, and no workflow was started.
    await engine.database.query(`DELETE FROM outbox WHERE delivery_id = $1`, [id]);
    await engine.database.query(
      `UPDATE deliveries SET status = 'pending', attempt_count = 0, started_generation = NULL, waiting_epoch = NULL,
         next_attempt_at = now() WHERE id = $1`,
      [id],
    );
    const subject = deliveryWorkflowId(id, 0);
    expect((await examine(false)).findings).toMatchObject([{ code: 'workflow_unmarked', subject }]);
    expect((await examine(true)).findings).toMatchObject([{ subject, outcome: 'mended' }]);
    expect(await engine.outbox()).toMatchObject([{ kind: 'wake', delivery_id: id }]);
    expect((await examine(false)).findings).toEqual([]);
    await engine.subscriptions.update(engine.context, subscription, { active: true });
    expect(await engine.workflow(id).result()).toMatchObject({ status: 'delivered' });
  });

  it('says why it could not look, and that is not well', async () => {
    const doctor = new DoctorService({
      checks: [
        {
          name: 'broken',
          title: 'what cannot be looked at',
          examine: () => Promise.reject(new Error('no answer')),
        },
      ],
    });
    expect(await doctor.examine({ fix: true })).toEqual([
      { check: 'broken', looked: 0, found: 0, mended: 0, asked: 0, failure: 'no answer' },
    ]);
  });
});

describe('the id of a delivery workflow', () => {
  it('is read back as it was made, and nothing else is taken for one', () => {
    const id = randomUUID();
    for (const generation of [0, 1, 12])
      expect(parseDeliveryWorkflowId(deliveryWorkflowId(id, generation))).toEqual({ id, generation });
    for (const other of [
      'delivery/',
      `delivery/${id}/x`,
      `endpoint/${id}`,
      `x/delivery/${id}`,
      `delivery/${id}/1/2`,
    ])
      expect(parseDeliveryWorkflowId(other)).toBeUndefined();
  });
});
