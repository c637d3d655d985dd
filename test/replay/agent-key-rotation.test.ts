// The courses of a key rotation that are recorded as histories of agentKeyRotation.
import { createTestAgent } from '../identity/agents/agent-rooms.ts';
import { eventually } from '../workflows/delivery-engine.ts';
import { createKeyRotationEngine, type KeyRotationEngine } from '../workflows/key-rotation-engine.ts';
import { describeHistories } from './describe-histories.ts';

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

describeHistories({
  workflow: 'agent-key-rotation',
  scenarios: SCENARIOS,
  start: async () => {
    const engine = await createKeyRotationEngine();
    engine.startRunner();
    await engine.startWorker();
    return engine;
  },
  record: async (engine, scenario) => {
    const handle = engine.workflow(await scenario(engine));
    await handle.result();
    return handle.fetchHistory();
  },
  activity: { name: 'revokeOldKey', of: 'completed' },
});
