// Entities and their workflows held against each other, on a real Temporal.

import { afterAll, describe, expect, inject, it } from 'vitest';
import { DoctorService } from '../../../src/operations/doctor/doctor.service.ts';
import { createEntityWorkflowCheck } from '../../../src/operations/doctor/entity-workflows.check.ts';
import type { Finding, Outcome } from '../../../src/operations/doctor/finding.ts';
import { entityWorkflowId } from '../../../src/platform/temporal/names.ts';
import { WorkflowCommandService } from '../../../src/platform/temporal/workflow-command.service.ts';
import { createWorkflowInspector } from '../../../src/platform/temporal/workflow-inspection.client.ts';
import * as signingSecretStore from '../../../src/webhooks/subscriptions/signing-secret.store.ts';
import type { SecretRotationState } from '../../../workflows/webhook-secret-rotation.ts';
import { makeNamespace } from '../../setup/namespace.ts';
import { createEngine, eventually } from '../../workflows/delivery-engine.ts';

const WORKFLOW = 'webhookSecretRotation';
const commands = new WorkflowCommandService();
let stopRunner: () => Promise<void>;

// An examination looks at all workflows of a namespace.
const namespace = await makeNamespace('doctor');
const engine = await createEngine({ temporal: { address: inject('temporalAddress'), namespace } });
await engine.startProcess();
stopRunner = engine.startRunner();
afterAll(() => engine.close());

async function examine(fix: boolean, seen = 20_000) {
  const findings: (Finding & { outcome: Outcome })[] = [];
  const check = createEntityWorkflowCheck({
    workflow: WORKFLOW,
    listExpected: signingSecretStore.listExpectedWorkflows,
    database: engine.database,
    inspector: createWorkflowInspector({ client: engine.client }),
    commands,
    pace: { page: 2, atOnce: 4, settle: 1_000, seen, poll: 50 },
  });
  const [report] = await new DoctorService({ checks: [check] }).examine(
    { fix },
    { onFinding: (finding, outcome) => findings.push({ ...finding, outcome }) },
  );
  expect(report?.failure).toBeNull();
  return { findings, report };
}

/** A subscription whose secret's overlap has begun, with its workflow. */
async function rotating(): Promise<string> {
  const { id } = await engine.subscribe();
  await engine.signingSecrets.rotate(engine.context, id, { overlapSeconds: 3_600 });
  // Waiting, not only started: one that has yet to read its row would find by itself what a test does to it.
  const isWaiting = () =>
    engine
      .entity(WORKFLOW, id)
      .query<SecretRotationState>('state')
      .then(({ doing }) => doing === 'waiting')
      .catch(() => false);
  await eventually(isWaiting, 'the workflow');
  await eventually(() => isListed(id), "the workflow in Temporal's list");
  return id;
}

const isRunning = (id: string) =>
  engine
    .entity(WORKFLOW, id)
    .describe()
    .then(({ status }) => status.name === 'RUNNING')
    .catch(() => false);

async function isListed(id: string): Promise<boolean> {
  for await (const page of createWorkflowInspector({ client: engine.client }).listRunning(WORKFLOW))
    if (page.includes(entityWorkflowId(WORKFLOW, id))) return true;
  return false;
}

describe('the examination of entities', () => {
  it('finds nothing while each has its workflow, over several pages', async () => {
    const ids = await Promise.all([rotating(), rotating(), rotating(), rotating(), rotating()]);
    const { findings, report } = await examine(false);
    expect(findings).toEqual([]);
    expect(report).toMatchObject({ failure: null, found: 0 });
    expect(report?.looked).toBeGreaterThanOrEqual(ids.length);
  });

  it('finds an entity whose workflow was terminated, and has it started again', async () => {
    const id = await rotating();
    await engine.entity(WORKFLOW, id).terminate('by a test');
    await eventually(async () => !(await isListed(id)), "Temporal's list");
    const subject = entityWorkflowId(WORKFLOW, id);
    const tenantId = engine.context.tenant.id;
    const expected = { code: 'workflow_missing', subject, tenantId };
    expect((await examine(false)).findings).toMatchObject([{ ...expected, outcome: 'left' }]);
    expect(await isRunning(id)).toBe(false);
    expect((await examine(true)).findings).toMatchObject([{ ...expected, outcome: 'mended' }]);
    expect(await isRunning(id)).toBe(true);
    expect((await examine(false)).findings).toEqual([]);
  });

  it('has a workflow look whose row does not need it any more, and sees it end', async () => {
    const id = await rotating();
    await engine.database.query(
      'UPDATE subscriptions SET secret_overlap_ends_at = NULL, next_secret_sealed = NULL WHERE id = $1',
      [id],
    );
    const subject = entityWorkflowId(WORKFLOW, id);
    expect((await examine(false)).findings).toMatchObject([{ code: 'workflow_without_row', subject }]);
    expect((await examine(true)).findings).toMatchObject([{ subject, outcome: 'mended' }]);
    expect(await isRunning(id)).toBe(false);
  });

  it('only asks while no worker hands anything over, and then finds nothing to do twice', async () => {
    const id = await rotating();
    await stopRunner();
    await engine.entity(WORKFLOW, id).terminate('by a test');
    await eventually(async () => !(await isListed(id)), "Temporal's list");
    const subject = entityWorkflowId(WORKFLOW, id);
    expect((await examine(true, 300)).findings).toMatchObject([{ subject, outcome: 'asked' }]);
    // Its command waits: what is on its way is no finding.
    expect((await examine(true, 300)).findings).toEqual([]);
    stopRunner = engine.startRunner();
    await eventually(() => isRunning(id), 'the workflow, once a worker hands over again');
  });
});
