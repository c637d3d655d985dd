// Histories of key rotations as earlier versions made them: today's workflow must be able to go on from any of them. With
// RECORD_HISTORIES=1 the ones that are missing are recorded; one that is there is never written again.
import { existsSync, readFileSync } from 'node:fs';
import { Worker } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { installTemporalRuntime } from '../../src/temporal/worker.ts';
import { createTestAgent } from '../agents/agent-rooms.ts';
import { workflowBundle } from '../setup/workflow-bundle.ts';
import { eventually } from '../workflows/delivery-engine.ts';
import { createKeyRotationEngine, type KeyRotationEngine } from '../workflows/key-rotation-engine.ts';
import { parseHistory, readHistory, writeHistory } from './history-file.ts';

const fileOf = (name: string) => new URL(`./histories/agent-key-rotation.${name}.json`, import.meta.url);

/** Each has a workflow that ends, and answers with the id of the key that goes. */
const SCENARIOS: Record<string, (engine: KeyRotationEngine) => Promise<string>> = {
  completed: async (engine) => {
    const one = await engine.begin({ overlapSeconds: 1 });
    await engine.does(one.oldKey.id, 'waiting for the switch');
    await one.useNew();
    return one.oldKey.id;
  },
  'stalled-then-completed': async (engine) => {
    const one = await engine.begin({ deadlineSeconds: 1, overlapSeconds: 1 });
    await eventually(async () => (await one.read()).stalledAt !== null, 'the warning');
    await one.useNew();
    return one.oldKey.id;
  },
  canceled: async (engine) => {
    const one = await engine.begin();
    await engine.does(one.oldKey.id, 'waiting for the switch');
    await engine.rooms.rotations.cancel(engine.context, one.agent.id, one.rotation.id);
    return one.oldKey.id;
  },
  'canceled-by-operator': async (engine) => {
    const one = await engine.begin();
    await engine.does(one.oldKey.id, 'waiting for the switch');
    await engine.workflow(one.oldKey.id).executeUpdate('cancel', { args: ['asked by phone'] });
    return one.oldKey.id;
  },
  'deprecated-by-hand': async (engine) => {
    const { agent, key } = await createTestAgent(engine.rooms, engine.context);
    await engine.rooms.keys.deprecate(engine.context, agent.id, key.id, { sunsetAfterSeconds: 600 });
    await engine.does(key.id, 'waiting for the sunset');
    await engine.rooms.keys.deprecate(engine.context, agent.id, key.id, { sunsetAfterSeconds: 1 });
    return key.id;
  },
  'revoked-by-hand': async (engine) => {
    const one = await engine.begin();
    await engine.does(one.oldKey.id, 'waiting for the switch');
    await engine.rooms.keys.revoke(engine.context, one.agent.id, one.oldKey.id);
    return one.oldKey.id;
  },
  aborted: async (engine) => {
    const one = await engine.begin();
    await engine.does(one.oldKey.id, 'waiting for the switch');
    await engine.rooms.keys.revoke(engine.context, one.agent.id, one.newKey.id);
    return one.oldKey.id;
  },
  'agent-deleted': async (engine) => {
    const one = await engine.begin();
    await engine.does(one.oldKey.id, 'waiting for the switch');
    await engine.rooms.agents.remove(engine.context, one.agent.id);
    return one.oldKey.id;
  },
};

describe.runIf(process.env.RECORD_HISTORIES === '1')('recording', () => {
  let engine: KeyRotationEngine;
  beforeAll(async () => {
    engine = await createKeyRotationEngine();
    engine.startRunner();
    await engine.startWorker();
  });
  afterAll(() => engine.close());

  it.each(Object.keys(SCENARIOS).filter((name) => !existsSync(fileOf(name))))('%s', async (name) => {
    const handle = engine.workflow((await SCENARIOS[name]?.(engine)) ?? '');
    await handle.result();
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
    const text = readFileSync(fileOf('completed'), 'utf8').replaceAll('revokeOldKey', 'revokeSomethingElse');
    await expect(Worker.runReplayHistory(await options(), parseHistory(text))).rejects.toThrow(
      /nondeterminism/i,
    );
  });
});
