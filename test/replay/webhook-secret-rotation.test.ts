// The courses of two signing secrets that are recorded as histories of webhookSecretRotation.
import { createEngine, type DeliveryEngine, eventually } from '../workflows/delivery-engine.ts';
import { describeHistories } from './describe-histories.ts';

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
    await engine.signingSecrets.rotate(engine.context, id, { overlapSeconds: 3 });
    return id;
  },
  'ended-quietly': async (engine) => {
    const { id } = await engine.subscribe();
    await engine.signingSecrets.rotate(engine.context, id, { overlapSeconds: 600 });
    await waits(engine, id);
    await engine.signingSecrets.rotate(engine.context, id, { overlapSeconds: 0 });
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

describeHistories({
  workflow: 'webhook-secret-rotation',
  scenarios: SCENARIOS,
  start: async () => {
    const engine = await createEngine();
    await engine.startProcess();
    engine.startRunner();
    return engine;
  },
  record: async (engine, scenario) => {
    const handle = engine.entity('webhookSecretRotation', await scenario(engine));
    await eventually(() => handle.result().catch(() => undefined), 'its end');
    return handle.fetchHistory();
  },
  activity: { name: 'finishSecretRotation', of: 'finished' },
});
