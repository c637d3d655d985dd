// The courses of a bulk replay that are recorded as histories of bulkReplay.
import { createEngine, type DeliveryEngine, eventually } from '../workflows/delivery-engine.ts';
import { describeHistories } from './describe-histories.ts';

const waits = (engine: DeliveryEngine, id: string) =>
  eventually(async () => {
    const state = await engine
      .entity('bulkReplay', id)
      .query<{ doing: string }>('state')
      .catch(() => undefined);
    return state?.doing === 'waiting for the subscription';
  }, 'the workflow to wait');

/** A bulk replay of some deliveries, whose subscription is inactive if that is said. */
async function begin(engine: DeliveryEngine, { active }: { active: boolean }) {
  const { id, path } = await engine.subscribe();
  engine.receiver.answer(path, () => ({ status: 400 }));
  for (const delivery of await engine.publish(id, 6)) await engine.ended(delivery);
  const since = new Date(0);
  const replay = await engine.bulkReplays.begin(engine.context, id, { since, status: 'failed' });
  if (!active) {
    await engine.subscriptions.update(engine.context, id, { active: false });
    await waits(engine, replay.id);
  }
  return { id, replay: replay.id };
}

/** Each has a workflow that ends, and answers with the id of its replay. */
const SCENARIOS: Record<string, (engine: DeliveryEngine) => Promise<string>> = {
  completed: async (engine) => (await begin(engine, { active: true })).replay,
  'paused-then-completed': async (engine) => {
    const { id, replay } = await begin(engine, { active: false });
    await engine.subscriptions.update(engine.context, id, { active: true });
    return replay;
  },
  canceled: async (engine) => {
    const { id, replay } = await begin(engine, { active: false });
    await engine.bulkReplays.cancel(engine.context, id, replay);
    return replay;
  },
  'canceled-by-operator': async (engine) => {
    const { replay } = await begin(engine, { active: false });
    await engine.entity('bulkReplay', replay).executeUpdate('cancel', { args: ['asked by phone'] });
    return replay;
  },
};

describeHistories({
  workflow: 'bulk-replay',
  scenarios: SCENARIOS,
  start: async () => {
    const engine = await createEngine();
    await engine.startProcess();
    return engine;
  },
  record: async (engine, scenario) => {
    const stop = engine.startRunner();
    const handle = engine.entity('bulkReplay', await scenario(engine));
    await eventually(() => handle.result().catch(() => undefined), 'its end');
    await stop();
    return handle.fetchHistory();
  },
  activity: { name: 'replayDeliveries', of: 'completed' },
});
