// The courses of a delivery that are recorded as histories of webhookDelivery.
import { createEngine, type DeliveryEngine, eventually } from '../workflows/delivery-engine.ts';
import { describeHistories } from './describe-histories.ts';

/** How many records of 2xx the database does not take. */
let refusals = 0;

/** Each makes one delivery, and answers with its id and generation once its workflow is over. */
const SCENARIOS: Record<string, (engine: DeliveryEngine) => Promise<[id: string, generation: number]>> = {
  retried: async (engine) => {
    const { id, path } = await engine.subscribe({ delaysMs: [200, 100] });
    engine.receiver.answer(path, (_, count) => ({ status: count < 3 ? 500 : 200 }));
    const [delivery = ''] = await engine.publish(id);
    return [delivery, 0];
  },
  'held-and-resumed': async (engine) => {
    const { id, path } = await engine.subscribe({ delaysMs: [3_000] });
    engine.receiver.answer(path, (_, count) => ({ status: count < 2 ? 500 : 200 }));
    const [delivery = ''] = await engine.publish(id);
    await engine.failedOnce(delivery);
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
  // The wait is over before the workflow begins.
  'due-at-its-start': async (engine) => {
    const { id, path } = await engine.subscribe({ delaysMs: [1] });
    engine.receiver.answer(path, (_, count) => ({ status: count < 2 ? 500 : 200 }));
    const [delivery = ''] = await engine.publish(id);
    return [delivery, 0];
  },
  'failed-at-its-retry': async (engine) => {
    const { id, path } = await engine.subscribe({ delaysMs: [1] });
    engine.receiver.answer(path, (_, count) => ({ status: count < 2 ? 500 : 422 }));
    const [delivery = ''] = await engine.publish(id);
    return [delivery, 0];
  },
  'retried-by-hand': async (engine) => {
    const { id, path } = await engine.subscribe({ delaysMs: [3_600_000] });
    engine.receiver.answer(path, (_, count) => ({ status: count < 2 ? 500 : 200 }));
    const [delivery = ''] = await engine.publish(id);
    await engine.failedOnce(delivery);
    await engine.deliveries.retry(engine.context, delivery);
    return [delivery, 0];
  },
  'canceled-while-waiting': async (engine) => {
    const { id, path } = await engine.subscribe({ delaysMs: [3_600_000] });
    engine.receiver.answer(path, () => ({ status: 500 }));
    const [delivery = ''] = await engine.publish(id);
    await engine.failedOnce(delivery);
    await engine.deliveries.cancel(engine.context, delivery);
    return [delivery, 0];
  },
  'retried-by-operator': async (engine) => {
    const { id, path } = await engine.subscribe({ delaysMs: [3_600_000] });
    engine.receiver.answer(path, (_, count) => ({ status: count < 2 ? 500 : 200 }));
    const [delivery = ''] = await engine.publish(id);
    await engine.failedOnce(delivery);
    await engine.workflow(delivery).executeUpdate('retry', { args: ['by a test'] });
    return [delivery, 0];
  },
  'canceled-by-operator': async (engine) => {
    const { id, path } = await engine.subscribe({ delaysMs: [3_600_000] });
    engine.receiver.answer(path, () => ({ status: 500 }));
    const [delivery = ''] = await engine.publish(id);
    await engine.failedOnce(delivery);
    await engine.workflow(delivery).executeUpdate('cancel');
    return [delivery, 0];
  },
  'retried-by-batch': async (engine) => {
    const { id, path } = await engine.subscribe({ delaysMs: [3_600_000] });
    engine.receiver.answer(path, (_, count) => ({ status: count < 2 ? 500 : 200 }));
    const [delivery = ''] = await engine.publish(id);
    await engine.failedOnce(delivery);
    await engine.workflow(delivery).signal('operatorRetry', 'by a test');
    return [delivery, 0];
  },
  'canceled-in-temporal': async (engine) => {
    const { id, path } = await engine.subscribe({ delaysMs: [3_600_000] });
    engine.receiver.answer(path, () => ({ status: 500 }));
    const [delivery = ''] = await engine.publish(id);
    await engine.failedOnce(delivery);
    await engine.workflow(delivery).cancel();
    return [delivery, 0];
  },
  'recorded-later': async (engine) => {
    const { id, path } = await engine.subscribe({ delaysMs: [50] });
    engine.receiver.answer(path, (_, count) => ({ status: count < 2 ? 500 : 200 }));
    refusals = 1;
    const [delivery = ''] = await engine.publish(id);
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

describeHistories({
  workflow: 'webhook-delivery',
  scenarios: SCENARIOS,
  start: async () => {
    const engine = await createEngine();
    await engine.startProcess({
      store: (store) => ({
        ...store,
        recordDelivered: async (queryable, successes) => {
          if (refusals === 0) return store.recordDelivered(queryable, successes);
          refusals -= 1;
          throw new Error('the database is away');
        },
      }),
    });
    return engine;
  },
  record: async (engine, scenario) => {
    const [delivery, generation] = await scenario(engine);
    await engine.ended(delivery);
    const handle = engine.workflow(delivery, generation);
    await handle.result();
    return handle.fetchHistory();
  },
  activity: { name: 'sendDelivery', of: 'retried' },
});
