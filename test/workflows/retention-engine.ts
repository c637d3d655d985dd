// A worker of retention in a namespace of its own, where the schedule is the only one of its name.

import { randomUUID } from 'node:crypto';
import { NativeConnection } from '@temporalio/worker';
import { inject } from 'vitest';
import { createRetentionActivities } from '../../activities/retention.ts';
import { wireRetentionOfRooms } from '../../src/app/wiring/retention.ts';
import type { RetentionService } from '../../src/operations/retention/retention.service.ts';
import { createTemporalClient } from '../../src/platform/temporal/client.ts';
import { RETENTION_SCHEDULE } from '../../src/platform/temporal/names.ts';
import { ensureNamespace } from '../../src/platform/temporal/namespace.ts';
import { createDeliveryWorker } from '../../src/platform/temporal/worker.ts';
import { workflowBundle } from '../setup/workflow-bundle.ts';
import { type DeliveryEngine, eventually } from './delivery-engine.ts';

/** @param change what the test replaces of the service */
export async function startRetentionWorker(
  engine: DeliveryEngine,
  change: (service: RetentionService) => RetentionService = (service) => service,
) {
  const connection = await NativeConnection.connect({ address: inject('temporalAddress') });
  const namespace = `retention-${randomUUID()}`;
  await ensureNamespace(connection, { namespace });
  const client = createTemporalClient(connection, { namespace });
  const queue = `retention-${randomUUID()}`;
  const { retention } = wireRetentionOfRooms(engine.platform, engine);
  const worker = await createDeliveryWorker({
    connection,
    namespace,
    taskQueues: { main: queue, attempts: `${queue}-attempts`, slow: `${queue}-slow` },
    activities: createRetentionActivities({ retention: change(retention) }),
    workflows: await workflowBundle(),
  });
  const running = worker.run();
  return {
    client,
    queue,
    /** The run so many after the first. */
    run: (index: number) =>
      eventually(async () => {
        const { info } = await client.schedule.getHandle(RETENTION_SCHEDULE).describe();
        const id = info.recentActions[index]?.action.workflow.workflowId;
        return id === undefined ? undefined : client.workflow.getHandle(id);
      }, `run ${index}`),
    stop: async () => {
      worker.shutdown();
      await running;
      await connection.close();
    },
  };
}
