// The courses of a run of retention that are recorded as histories.
import { ensureSchedules } from '../../src/platform/temporal/schedules.ts';
import { createEngine } from '../workflows/delivery-engine.ts';
import { type RetentionSteps, startRetentionWorker } from '../workflows/retention-engine.ts';
import { describeHistories } from './describe-histories.ts';

/** Each replaces a part of the service. */
const SCENARIOS: Record<string, (service: RetentionSteps) => RetentionSteps> = {
  done: (service) => service,
  'in-several-calls': (service) => {
    let left = 3;
    return {
      ...service,
      purgeNames: () => ['challenges', 'revocations'],
      purge: async () => ({ count: 1_000, more: --left > 0 }),
    };
  },
  'from-tenant-to-tenant': (service) => ({
    ...service,
    purgeNames: () => ['events of tenants'],
    purge: async (_name, _pulse, place) =>
      place === undefined ? { count: 1, more: true, place: 'first' } : { count: 1, more: false },
  }),
  'nothing-to-purge': (service) => ({ ...service, purgeNames: () => [] }),
  incomplete: (service) => ({
    ...service,
    purgeNames: () => ['challenges', 'revocations'],
    dropPartitions: () => Promise.reject(new Error('not now')),
  }),
};

describeHistories({
  workflow: 'retention',
  scenarios: SCENARIOS,
  start: () => createEngine(),
  record: async (engine, scenario) => {
    const { client, queue, run, stop } = await startRetentionWorker(engine, scenario);
    await ensureSchedules(client, { taskQueue: queue });
    const first = await run(0);
    await first.result().catch(() => undefined);
    const history = await first.fetchHistory();
    await stop();
    return history;
  },
  activity: { name: 'dropPartitions', of: 'done' },
});
