// A worker of retention in a new namespace, where no other schedule has its name.
import { createRetentionActivities } from '../../activities/retention.ts';
import { wireRetention } from '../../src/app/wiring/retention.ts';
import { RETENTION_SCHEDULE } from '../../src/platform/temporal/names.ts';
import { type DeliveryEngine, eventually } from './delivery-engine.ts';
import { connectTestWorkers } from './test-workers.ts';

/** The service as the activities use it. */
export type RetentionSteps = Parameters<typeof createRetentionActivities>[0]['retention'];

/** @param change what the test replaces of the service */
export async function startRetentionWorker(
  engine: DeliveryEngine,
  change: (service: RetentionSteps) => RetentionSteps = (service) => service,
) {
  const workers = await connectTestWorkers({ namespace: { own: 'retention' } });
  const { client } = workers;
  const retention = wireRetention(engine.platform, engine);
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
