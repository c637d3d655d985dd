// Histories of retention as earlier versions made them: today's workflow must be able to go on from any of them. With RECORD_HISTORIES=1
// the ones that are missing are recorded; one that is there is never written again.
import { existsSync, readFileSync } from 'node:fs';
import { Worker } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RetentionService } from '../../src/retention/retention.service.ts';
import { ensureSchedules } from '../../src/temporal/schedules.ts';
import { installTemporalRuntime } from '../../src/temporal/worker.ts';
import { workflowBundle } from '../setup/workflow-bundle.ts';
import { createEngine, type DeliveryEngine } from '../workflows/delivery-engine.ts';
import { startRetentionWorker } from '../workflows/retention-engine.ts';
import { parseHistory, readHistory, writeHistory } from './history-file.ts';

const fileOf = (name: string) => new URL(`./histories/retention.${name}.json`, import.meta.url);

/** Each replaces a part of the service. */
const SCENARIOS: Record<string, (service: RetentionService) => RetentionService> = {
  done: (service) => service,
  'in-several-calls': (service) => {
    let left = 3;
    return {
      ...service,
      purgeNames: () => ['challenges', 'revocations'],
      purge: async () => ({ count: 1_000, more: --left > 0 }),
    };
  },
  incomplete: (service) => ({
    ...service,
    purgeNames: () => ['challenges', 'revocations'],
    dropPartitions: () => Promise.reject(new Error('not now')),
  }),
};

describe.runIf(process.env.RECORD_HISTORIES === '1')('recording', () => {
  let engine: DeliveryEngine;
  beforeAll(async () => {
    engine = await createEngine();
  });
  afterAll(() => engine.close());

  it.each(Object.keys(SCENARIOS).filter((name) => !existsSync(fileOf(name))))('%s', async (name) => {
    const { client, queue, run, stop } = await startRetentionWorker(engine, SCENARIOS[name]);
    await ensureSchedules(client, { taskQueue: queue });
    const first = await run(0);
    await first.result().catch(() => undefined);
    writeHistory(fileOf(name), await first.fetchHistory());
    await stop();
  });
});

describe('replaying', () => {
  beforeAll(() => {
    if (process.env.RECORD_HISTORIES !== '1') installTemporalRuntime(() => undefined);
  });

  const options = async () => ({ workflowBundle: await workflowBundle(), reuseV8Context: true });

  it.each(Object.keys(SCENARIOS))('%s', async (name) => {
    await Worker.runReplayHistory(await options(), readHistory(fileOf(name)));
  });

  it('notices a workflow that does something else', async () => {
    const text = readFileSync(fileOf('done'), 'utf8').replaceAll('dropPartitions', 'dropEverything');
    await expect(Worker.runReplayHistory(await options(), parseHistory(text))).rejects.toThrow(
      /nondeterminism/i,
    );
  });
});
