// Histories of recoveries as earlier versions made them: today's workflow must be able to go on from any of them. With
// RECORD_HISTORIES=1 the ones that are missing are recorded; one that is there is never written again.
import { existsSync, readFileSync } from 'node:fs';
import { Worker } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { installTemporalRuntime } from '../../src/temporal/worker.ts';
import { workflowBundle } from '../setup/workflow-bundle.ts';
import { createEngine, type DeliveryEngine, eventually } from '../workflows/delivery-engine.ts';
import { parseHistory, readHistory, writeHistory } from './history-file.ts';

const fileOf = (name: string) => new URL(`./histories/bulk-recovery.${name}.json`, import.meta.url);

const waits = (engine: DeliveryEngine, id: string) =>
  eventually(async () => {
    const state = await engine
      .entity('bulkRecovery', id)
      .query<{ doing: string }>('state')
      .catch(() => undefined);
    return state?.doing === 'waiting for the subscription';
  }, 'the workflow to wait');

/** A recovery of some deliveries, whose subscription is inactive if that is said. */
async function begin(engine: DeliveryEngine, { active }: { active: boolean }) {
  const { id, path } = await engine.subscribe();
  engine.receiver.answer(path, () => ({ status: 400 }));
  for (const delivery of await engine.publish(id, 6)) await engine.ended(delivery);
  const since = new Date(0);
  const recovery = await engine.bulkRecoveries.begin(engine.context, id, { since, status: 'failed' });
  if (!active) {
    await engine.subscriptions.update(engine.context, id, { active: false });
    await waits(engine, recovery.id);
  }
  return { id, recovery: recovery.id };
}

/** Each has a workflow that ends, and answers with the id of its recovery. */
const SCENARIOS: Record<string, (engine: DeliveryEngine) => Promise<string>> = {
  completed: async (engine) => (await begin(engine, { active: true })).recovery,
  'paused-then-completed': async (engine) => {
    const { id, recovery } = await begin(engine, { active: false });
    await engine.subscriptions.update(engine.context, id, { active: true });
    return recovery;
  },
  canceled: async (engine) => {
    const { id, recovery } = await begin(engine, { active: false });
    await engine.bulkRecoveries.cancel(engine.context, id, recovery);
    return recovery;
  },
  'canceled-by-operator': async (engine) => {
    const { recovery } = await begin(engine, { active: false });
    await engine.entity('bulkRecovery', recovery).executeUpdate('cancel', { args: ['asked by phone'] });
    return recovery;
  },
};

describe.runIf(process.env.RECORD_HISTORIES === '1')('recording', () => {
  let engine: DeliveryEngine;
  beforeAll(async () => {
    engine = await createEngine();
    await engine.startProcess();
  });
  afterAll(() => engine.close());

  it.each(Object.keys(SCENARIOS).filter((name) => !existsSync(fileOf(name))))('%s', async (name) => {
    const stop = engine.startRunner();
    const handle = engine.entity('bulkRecovery', (await SCENARIOS[name]?.(engine)) ?? '');
    await eventually(() => handle.result().catch(() => undefined), 'its end');
    await stop();
    writeHistory(fileOf(name), await handle.fetchHistory());
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
    const text = readFileSync(fileOf('completed'), 'utf8').replaceAll('replayDeliveries', 'another');
    await expect(Worker.runReplayHistory(await options(), parseHistory(text))).rejects.toThrow(
      /nondeterminism/i,
    );
  });
});
