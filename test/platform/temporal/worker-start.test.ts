// A worker that is made while Temporal fails.
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, inject, it } from 'vitest';
import { loadConfig } from '../../../src/platform/config.ts';
import { connectNatively } from '../../../src/platform/temporal/client.ts';
import { openDeliveryWorker } from '../../../src/platform/temporal/worker.ts';
import { createTcpProxy } from '../../setup/tcp-proxy.ts';
import { installTestRuntime } from '../../setup/temporal-runtime.ts';
import { workflowBundle } from '../../setup/workflow-bundle.ts';

it('is made again when Temporal answers again', async () => {
  installTestRuntime();
  let isAway = false;
  const proxy = await createTcpProxy(`http://${inject('temporalAddress')}`, (client, upstream) => {
    if (isAway) return void client.destroy();
    client.pipe(upstream);
    upstream.pipe(client);
  });
  const namespace = inject('temporalNamespace');
  let connections = 0;
  const connect = async () => {
    isAway = false;
    const settings = { TEMPORAL_ADDRESS: new URL(proxy.url).host, TEMPORAL_NAMESPACE: namespace };
    const connection = await connectNatively(loadConfig(settings, { role: 'migrate' }).temporal);
    connections += 1;
    if (connections > 1) return connection;
    isAway = true;
    for (const socket of proxy.sockets) socket.destroy();
    return connection;
  };
  const { worker, connection } = await openDeliveryWorker(connect, {
    namespace,
    taskQueues: { main: 'start-main', attempts: 'start-attempts', slow: 'start-slow' },
    activities: { listPurges: async () => [] },
    workflows: await workflowBundle(),
  });
  expect(connections).toBe(2);
  const running = worker.run();
  await sleep(100);
  worker.shutdown();
  await running;
  await connection.close();
  await proxy.close();
});
