// A worker of retention in a new namespace, where no other schedule has its name.
import pino from 'pino';
import { createRetentionActivities } from '../../activities/retention.ts';
import { composeRetention } from '../../src/app/wiring/compose-retention.ts';
import { createEventStore } from '../../src/events/event.store.ts';
import type { RetentionService } from '../../src/operations/retention/retention.service.ts';
import { RETENTION_SCHEDULE } from '../../src/platform/temporal/names.ts';
import { type DeliveryEngine, eventually } from './delivery-engine.ts';
import { connectTestWorkers } from './test-workers.ts';

/** @param change what the test replaces of the service */
export async function startRetentionWorker(
  engine: DeliveryEngine,
  change: (service: RetentionService) => RetentionService = (service) => service,
) {
  const workers = await connectTestWorkers({ namespace: { own: 'retention' } });
  const { client } = workers;
  const { database, audit, notifier } = engine;
  const { retention } = composeRetention(
    { database, audit, eventStore: createEventStore(), notifier },
    { logger: pino({ level: 'silent' }) },
  );
  await workers.startWorker(createRetentionActivities({ retention: change(retention) }));
  return {
    client,
    queue: workers.taskQueues.main,
    /** The run so many after the first. */
    run: (index: number) =>
      eventually(async () => {
        const { info } = await client.schedule.getHandle(RETENTION_SCHEDULE).describe();
        const id = info.recentActions[index]?.action.workflow.workflowId;
        return id === undefined ? undefined : client.workflow.getHandle(id);
      }, `run ${index}`),
    stop: workers.close,
  };
}
