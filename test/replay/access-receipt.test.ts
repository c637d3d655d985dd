// The courses of a receipt that are recorded as histories of accessReceipt.
import { createReceiptEngine, type ReceiptEngine } from '../workflows/receipt-engine.ts';
import { describeHistories } from './describe-histories.ts';

/** Each has a workflow that ends, and answers with the id of its receipt. */
const SCENARIOS: Record<string, (engine: ReceiptEngine) => Promise<string>> = {
  acknowledged: async (engine) => {
    const { id } = await engine.suspend(2);
    await engine.waits(id);
    await engine.end(id, 'delivered');
    return id;
  },
  unacknowledged: async (engine) => {
    const { id, subscriptions } = await engine.suspend(2);
    await engine.waits(id);
    await engine.end(id, 'delivered', subscriptions[0]);
    await engine.waits(id, 1);
    await engine.end(id, 'failed');
    return id;
  },
  'signaled-while-waiting': async (engine) => {
    const { id } = await engine.suspend(1);
    await engine.waits(id);
    await engine.end(id, 'delivered');
    await engine.workflow(id).signal('changed');
    return id;
  },
};

describeHistories({
  workflow: 'access-receipt',
  scenarios: SCENARIOS,
  start: () => createReceiptEngine(),
  record: async (engine, scenario) => {
    const id = await scenario(engine);
    await engine.endOf(id);
    return engine.workflow(id).fetchHistory();
  },
  activity: { name: 'completeReceipt', of: 'acknowledged' },
});
