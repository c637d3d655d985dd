// What the doctor says of workers that run and get no work: real workers of real builds, each in a namespace of its
// own.
import { randomUUID } from 'node:crypto';
import { NativeConnection } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest';
import type { Finding } from '../../../src/operations/doctor/finding.ts';
import { createFoundationCheck } from '../../../src/operations/doctor/foundation.check.ts';
import { createTemporalClient } from '../../../src/platform/temporal/client.ts';
import { TASK_QUEUES, WORKER_DEPLOYMENT } from '../../../src/platform/temporal/names.ts';
import { ensureNamespace } from '../../../src/platform/temporal/namespace.ts';
import { createDeliveryWorker } from '../../../src/platform/temporal/worker.ts';
import { createWorkflowInspector } from '../../../src/platform/temporal/workflow-inspection.client.ts';
import { useTestDatabase } from '../../setup/database.ts';
import { workflowBundle } from '../../setup/workflow-bundle.ts';
import { makeCurrent } from '../../workflows/current-build.ts';
import { eventually } from '../../workflows/delivery-engine.ts';

const { database } = await useTestDatabase();

let connection: NativeConnection;
beforeAll(async () => {
  connection = await NativeConnection.connect({ address: inject('temporalAddress') });
});
afterAll(() => connection?.close());

/** A namespace in which workers of one build run; '' for workers without a build id. */
async function prepare(buildId: string) {
  const namespace = `foundation-${randomUUID()}`;
  await ensureNamespace(connection, { namespace });
  const worker = await createDeliveryWorker({
    connection,
    namespace,
    taskQueues: TASK_QUEUES,
    activities: { purge: () => Promise.reject(new Error('nothing is asked of it')) },
    workflows: await workflowBundle(),
    version: buildId === '' ? undefined : { deploymentName: WORKER_DEPLOYMENT, buildId },
  });
  const running = worker.run();
  onTestFinished(async () => {
    worker.shutdown();
    await running;
  });
  const client = createTemporalClient(connection, { namespace });
  const inspector = createWorkflowInspector({ client });
  const check = createFoundationCheck({ database, connection, client, inspector, namespace });
  const examine = async () => {
    const findings: Omit<Finding, 'check'>[] = [];
    // Nobody has made a schedule here.
    const found = async (finding: Omit<Finding, 'check'>) => {
      if (finding.code !== 'schedule_missing') findings.push(finding);
    };
    await check.examine({ found, looked: () => undefined });
    return findings;
  };
  const codes = async () => [...new Set((await examine()).map(({ code }) => code))];
  const areSeen = async () => !(await codes()).includes('no_worker');
  await eventually(areSeen, 'the workers to have asked each queue');
  return { namespace, examine, codes };
}

describe('workers of a build', () => {
  it('that is not current are no workers for the work there is, until it is', async () => {
    const { namespace, examine, codes } = await prepare('new');
    const findings = await examine();
    expect(findings.map(({ code, subject }) => `${code} ${subject}`)).toEqual([
      'version_not_current task queue countersign',
      'version_not_current task queue countersign',
      'version_not_current task queue attempts',
      'version_not_current task queue attempts-slow',
    ]);
    expect(findings[0]?.detail).toMatch(/go to workers without a build id, .* are the build new$/);
    await makeCurrent(namespace, 'new');
    expect(await codes()).toEqual([]);
  });

  it('none, are all there is to want while no build is current', async () => {
    const { codes } = await prepare('');
    expect(await codes()).toEqual([]);
  });
});
