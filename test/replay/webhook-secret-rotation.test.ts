// Histories of secret rotations as earlier versions made them: today's workflow must be able to go on from any of them. With
// RECORD_HISTORIES=1 the ones that are missing are recorded; one that is there is never written again.
import { existsSync, readFileSync } from 'node:fs';
import { Worker } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { installTemporalRuntime } from '../../src/temporal/worker.ts';
import { workflowBundle } from '../setup/workflow-bundle.ts';
import { createEngine, type DeliveryEngine, eventually } from '../workflows/delivery-engine.ts';
import { parseHistory, readHistory, writeHistory } from './history-file.ts';

const fileOf = (name: string) => new URL(`./histories/webhook-secret-rotation.${name}.json`, import.meta.url);

const waits = (engine: DeliveryEngine, id: string) =>
  eventually(async () => {
    const state = await engine
      .entity('webhookSecretRotation', id)
      .query<{ doing: string }>('state')
      .catch(() => undefined);
    return state?.doing === 'waiting';
  }, 'the workflow to wait');

/** Each has a workflow that ends, and answers with the id of its subscription. */
const SCENARIOS: Record<string, (engine: DeliveryEngine) => Promise<string>> = {
  finished: async (engine) => {
    const { id } = await engine.subscribe();
    await engine.signingSecrets.rotate(engine.context, id, { overlapSeconds: 1 });
    return id;
  },
  'replaced-at-once': async (engine) => {
    const { id } = await engine.subscribe();
    await engine.signingSecrets.rotate(engine.context, id, { overlapSeconds: 600 });
    await waits(engine, id);
    await engine.signingSecrets.rotate(engine.context, id, { overlapSeconds: 0 });
    return id;
  },
  'subscription-deleted': async (engine) => {
    const { id } = await engine.subscribe();
    await engine.signingSecrets.rotate(engine.context, id, { overlapSeconds: 600 });
    await waits(engine, id);
    await engine.subscriptions.remove(engine.context, id);
    await engine.entity('webhookSecretRotation', id).signal('changed');
    return id;
  },
};

describe.runIf(process.env.RECORD_HISTORIES === '1')('recording', () => {
  let engine: DeliveryEngine;
  beforeAll(async () => {
    engine = await createEngine();
    await engine.startProcess();
    engine.startRunner();
  });
  afterAll(() => engine.close());

  it.each(Object.keys(SCENARIOS).filter((name) => !existsSync(fileOf(name))))('%s', async (name) => {
    const handle = engine.entity('webhookSecretRotation', (await SCENARIOS[name]?.(engine)) ?? '');
    await eventually(() => handle.result().catch(() => undefined), 'its end');
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
    const text = readFileSync(fileOf('finished'), 'utf8').replaceAll('finishSecretRotation', 'another');
    await expect(Worker.runReplayHistory(await options(), parseHistory(text))).rejects.toThrow(
      /nondeterminism/i,
    );
  });
});
