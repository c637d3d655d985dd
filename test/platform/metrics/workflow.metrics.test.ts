// What a real worker's metrics say of workflows that end in every way there is, and of their timers.

import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { NativeConnection } from '@temporalio/worker';
import { Registry } from 'prom-client';
import { afterAll, describe, expect, inject, it } from 'vitest';
import { bundleWorkflows } from '../../../src/platform/temporal/bundle.ts';
import { createTemporalClient } from '../../../src/platform/temporal/client.ts';
import { WORKFLOW_TYPES } from '../../../src/platform/temporal/names.ts';
import { createDeliveryWorker } from '../../../src/platform/temporal/worker.ts';
import { createWorkflowMetrics } from '../../../src/platform/temporal/workflow.metrics.ts';
import { installTestRuntime } from '../../setup/temporal-runtime.ts';
import { parseExposition } from './prometheus-text.ts';

const registry = new Registry();
const taskQueue = `test-${randomUUID()}`;

installTestRuntime();
const connection = await NativeConnection.connect({ address: inject('temporalAddress') });
const namespace = inject('temporalNamespace');
const client = createTemporalClient(connection, { namespace });
const worker = await createDeliveryWorker({
  connection,
  namespace,
  taskQueues: { main: taskQueue, attempts: `${taskQueue}-a`, slow: `${taskQueue}-s` },
  activities: { listPurges: async () => [] },
  workflows: await bundleWorkflows(fileURLToPath(new URL('./sample-workflows.ts', import.meta.url))),
  sinks: createWorkflowMetrics({ registry }),
});
const running = worker.run();
afterAll(async () => {
  worker.shutdown();
  await running;
  await connection.close();
});

const start = (type: string, args: unknown[] = []) =>
  client.workflow.start(type, { taskQueue, workflowId: randomUUID(), args });

async function read(name: string, labels: Record<string, string>): Promise<number> {
  const family = parseExposition(await registry.metrics()).get(name.replace(/_(count|sum)$/, ''));
  const found = (family?.samples ?? []).filter(
    (sample) =>
      sample.name === name &&
      Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
  );
  return found.reduce((sum, { value }) => sum + value, 0);
}

const started = (workflow_type: string) => read('countersign_workflows_started_total', { workflow_type });
const ended = (workflow_type: string, outcome: string) =>
  read('countersign_workflows_ended_total', { workflow_type, outcome });

it('every type of workflow there is has its failures told from the start', async () => {
  const fresh = new Registry();
  createWorkflowMetrics({ registry: fresh, types: WORKFLOW_TYPES });
  const source = readFileSync(new URL('../../../workflows/index.ts', import.meta.url), 'utf8');
  const exported = [...source.matchAll(/^export \{ (\w+) \}/gm)].map(([, name]) => name);
  expect([...WORKFLOW_TYPES].sort()).toEqual(exported.sort());
  const samples =
    parseExposition(await fresh.metrics()).get('countersign_workflows_ended_total')?.samples ?? [];
  expect(samples.map(({ labels, value }) => [labels.workflow_type, labels.outcome, value])).toEqual(
    WORKFLOW_TYPES.map((type) => [type, 'failed', 0]),
  );
});

describe('a workflow', () => {
  it.each([
    ['says', ['delivered'], 'delivered'],
    ['says', ['Some text, that is no word'], 'completed'],
    ['saysNothing', [], 'completed'],
    ['fails', [], 'failed'],
  ])('%s(%j) is counted as %s', async (type, args, outcome) => {
    const before = await ended(type, outcome);
    await (await start(type, args)).result().catch(() => undefined);
    await expect.poll(() => ended(type, outcome)).toBe(before + 1);
  });

  it('that is canceled is counted as that', async () => {
    const handle = await start('waits');
    await expect.poll(() => started('waits')).toBe(1);
    await handle.cancel();
    await handle.result().catch(() => undefined);
    await expect.poll(() => ended('waits', 'canceled')).toBe(1);
  });

  it('that is continued is started once, and each of its runs ends', async () => {
    await (await start('goesOn', [2])).result();
    await expect.poll(() => ended('goesOn', 'completed')).toBe(1);
    expect(await ended('goesOn', 'continued_as_new')).toBe(2);
    expect(await started('goesOn')).toBe(1);
  });

  it('whose task fails has not ended, and is counted when it has', async () => {
    await (await start('stumbles')).result();
    await expect.poll(() => ended('stumbles', 'mended')).toBe(1);
    expect(await ended('stumbles', 'task_failed')).toBeLessThanOrEqual(1);
    expect(await ended('stumbles', 'failed')).toBe(0);
  });

  it('has each of its timers timed', async () => {
    const handle = await start('sleeps');
    await handle.result();
    const lag = 'countersign_workflow_timer_lag_seconds';
    await expect.poll(() => read(`${lag}_count`, { workflow_type: 'sleeps' })).toBe(2);
    expect(await ended('sleeps', 'rested')).toBe(1);
    // Not more than the run took in all: the lag is what comes behind the time of a timer.
    const { startTime, closeTime } = await handle.describe();
    const tookSeconds = ((closeTime?.getTime() ?? 0) - startTime.getTime()) / 1_000;
    expect((await read(`${lag}_sum`, { workflow_type: 'sleeps' })) / tookSeconds).toBeLessThan(1);
  });
});
