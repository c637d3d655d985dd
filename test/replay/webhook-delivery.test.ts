// Histories of deliveries as earlier versions made them: today's workflow must be able to go on from any of them. With RECORD_HISTORIES=1
// the ones that are missing are recorded; one that is there is never written again.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { Worker } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { installTemporalRuntime } from '../../src/temporal/worker.ts';
import { workflowBundle } from '../setup/workflow-bundle.ts';
import { createEngine, type DeliveryEngine, eventually } from '../workflows/delivery-engine.ts';
import { parseHistory, readHistory, writeHistory } from './history-file.ts';

const FOLDER = new URL('./histories/', import.meta.url);
const fileOf = (name: string) => new URL(`webhook-delivery.${name}.json`, FOLDER);

/** Each makes one delivery, and answers with its id and generation once its workflow is over. */
const SCENARIOS: Record<string, (engine: DeliveryEngine) => Promise<[id: string, generation: number]>> = {
  'delivered-in-task': async (engine) => {
    const { id } = await engine.subscribe();
    await engine.database.query('UPDATE lanes SET p90_ms = 5 WHERE subscription_id = $1', [id]);
    const [delivery = ''] = await engine.publish(id);
    return [delivery, 0];
  },
  'delivered-by-activity': async (engine) => {
    const { id } = await engine.subscribe();
    const [delivery = ''] = await engine.publish(id);
    return [delivery, 0];
  },
  retried: async (engine) => {
    const { id, path } = await engine.subscribe({ delaysMs: [200, 100] });
    engine.receiver.answer(path, (_, count) => ({ status: count < 3 ? 500 : 200 }));
    const [delivery = ''] = await engine.publish(id);
    return [delivery, 0];
  },
  'held-and-resumed': async (engine) => {
    const { id, path } = await engine.subscribe({ delaysMs: [300] });
    engine.receiver.answer(path, (_, count) => ({ status: count < 2 ? 500 : 200 }));
    const [delivery = ''] = await engine.publish(id);
    await eventually(async () => (await engine.delivery(delivery)).attempt_count === 1, 'the first record');
    await engine.subscriptions.update(engine.context, id, { active: false });
    await eventually(async () => (await engine.delivery(delivery)).waiting_epoch !== null, 'its wait');
    await engine.subscriptions.update(engine.context, id, { active: true });
    return [delivery, 0];
  },
  failed: async (engine) => {
    const { id, path } = await engine.subscribe({ delaysMs: [50] });
    engine.receiver.answer(path, () => ({ status: 500 }));
    const [delivery = ''] = await engine.publish(id);
    return [delivery, 0];
  },
  'retried-by-hand': async (engine) => {
    const { id, path } = await engine.subscribe({ delaysMs: [3_600_000] });
    engine.receiver.answer(path, (_, count) => ({ status: count < 2 ? 500 : 200 }));
    const [delivery = ''] = await engine.publish(id);
    await eventually(async () => (await engine.delivery(delivery)).attempt_count === 1, 'the first record');
    await engine.deliveries.retry(engine.context, delivery);
    return [delivery, 0];
  },
  'canceled-while-waiting': async (engine) => {
    const { id, path } = await engine.subscribe({ delaysMs: [3_600_000] });
    engine.receiver.answer(path, () => ({ status: 500 }));
    const [delivery = ''] = await engine.publish(id);
    await eventually(async () => (await engine.delivery(delivery)).attempt_count === 1, 'the first record');
    await engine.deliveries.cancel(engine.context, delivery);
    return [delivery, 0];
  },
  replayed: async (engine) => {
    const { id, path } = await engine.subscribe({ delaysMs: [] });
    engine.receiver.answer(path, (_, count) => ({ status: count < 2 ? 500 : 200 }));
    const [delivery = ''] = await engine.publish(id);
    await engine.ended(delivery);
    await engine.deliveries.retry(engine.context, delivery);
    await eventually(async () => (await engine.delivery(delivery)).status === 'delivered', 'the replay');
    return [delivery, 1];
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
    const [delivery, generation] = (await SCENARIOS[name]?.(engine)) ?? ['', 0];
    await engine.ended(delivery);
    const handle = engine.workflow(delivery, generation);
    await handle.result();
    writeHistory(fileOf(name), await handle.fetchHistory());
  });
});

describe('replaying', () => {
  beforeAll(() => {
    if (process.env.RECORD_HISTORIES !== '1') installTemporalRuntime(() => undefined);
  });

  const files = readdirSync(FOLDER).filter((file) => file.startsWith('webhook-delivery.'));

  it('has a history of each scenario', () => {
    const recorded = files.map((file) => file.replace(/^webhook-delivery\.|\.json$/g, ''));
    expect(recorded).toEqual(expect.arrayContaining(Object.keys(SCENARIOS)));
  });

  const options = async () => ({ workflowBundle: await workflowBundle(), reuseV8Context: true });

  it.each(files)('%s', async (file) => {
    await Worker.runReplayHistory(await options(), readHistory(new URL(file, FOLDER)));
  });

  it('notices a workflow that does something else', async () => {
    const text = readFileSync(fileOf('retried'), 'utf8').replaceAll('sendDelivery', 'sendSomethingElse');
    await expect(Worker.runReplayHistory(await options(), parseHistory(text))).rejects.toThrow(
      /nondeterminism/i,
    );
  });
});
