// Workers against a real Temporal server, on task queues that no other test uses.
import { randomUUID } from 'node:crypto';
import { NativeConnection } from '@temporalio/worker';
import { inject } from 'vitest';
import type { Activities } from '../../activities/index.ts';
import { createTemporalClient } from '../../src/platform/temporal/client.ts';
import type { TaskQueues } from '../../src/platform/temporal/names.ts';
import { ensureNamespace } from '../../src/platform/temporal/namespace.ts';
import { createDeliveryWorker } from '../../src/platform/temporal/worker.ts';
import { workflowBundle } from '../setup/workflow-bundle.ts';
import { installRuntimeOnce } from './delivery-engine.ts';

export type TestWorkers = Awaited<ReturnType<typeof connectTestWorkers>>;

/**
 * @param options.address of another server than the run's
 * @param options.namespace of the server; `own`: a new one, for workflows and schedules whose names are not random
 */
export async function connectTestWorkers({
  address = inject('temporalAddress'),
  namespace = inject('temporalNamespace'),
}: {
  address?: string;
  namespace?: string | { own: string };
} = {}) {
  installRuntimeOnce();
  const connection = await NativeConnection.connect({ address });
  const name = typeof namespace === 'string' ? namespace : `${namespace.own}-${randomUUID()}`;
  if (typeof namespace !== 'string') await ensureNamespace(connection, { namespace: name });
  const queue = `test-${randomUUID()}`;
  const taskQueues: TaskQueues = { main: queue, attempts: `${queue}-attempts`, slow: `${queue}-slow` };
  const stops = new Set<() => Promise<void>>();

  /** @returns how to stop a part; `close` stops it as well */
  const stoppable = (stop: () => Promise<void>) => {
    const once = async () => {
      if (stops.delete(once)) await stop();
    };
    stops.add(once);
    return once;
  };

  return {
    connection,
    namespace: name,
    client: createTemporalClient(connection, { namespace: name }),
    taskQueues,
    stoppable,

    /** @returns how to stop it */
    startWorker: async (activities: Partial<Activities>) => {
      const worker = await createDeliveryWorker({
        connection,
        namespace: name,
        taskQueues,
        activities,
        workflows: await workflowBundle(),
      });
      const running = worker.run();
      return stoppable(async () => {
        worker.shutdown();
        await running;
      });
    },

    stopAll: async () => {
      for (const stop of [...stops]) await stop();
    },

    close: async () => {
      for (const stop of [...stops]) await stop().catch(() => undefined);
      await connection.close();
    },
  };
}
