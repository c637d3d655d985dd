// A worker that is made while Temporal fails.
import { setTimeout as sleep } from 'node:timers/promises';
import { NativeConnection } from '@temporalio/worker';
import { expect, inject, it } from 'vitest';
import { awaitNamespace } from '../../../src/platform/temporal/client.ts';
import { createDeliveryWorker } from '../../../src/platform/temporal/worker.ts';
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
  const connection = await NativeConnection.connect({ address: new URL(proxy.url).host });
  const namespace = inject('temporalNamespace');
  isAway = true;
  for (const socket of proxy.sockets) socket.destroy();
  let waits = 0;
  const worker = await createDeliveryWorker({
    connection,
    namespace,
    taskQueues: { main: 'start-main', attempts: 'start-attempts', slow: 'start-slow' },
    activities: { listPurges: async () => [] },
    workflows: await workflowBundle(),
    awaitTemporal: async () => {
      waits += 1;
      isAway = false;
      await awaitNamespace(connection, { namespace });
    },
  });
  expect(waits).toBeGreaterThan(0);
  const running = worker.run();
  await sleep(100);
  worker.shutdown();
  await running;
  await connection.close();
  await proxy.close();
}, 60_000);
