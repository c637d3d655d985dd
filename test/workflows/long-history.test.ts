// A delivery with very many attempts: its history is begun anew, and neither its count nor a signal is lost on the way.

import { randomUUID } from 'node:crypto';
import { NativeConnection } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { createTemporalClient } from '../../src/platform/temporal/client.ts';
import { deliveryWorkflowId } from '../../src/platform/temporal/names.ts';
import { createDeliveryWorker } from '../../src/platform/temporal/worker.ts';
import type { AttemptRequest, SendResult } from '../../src/webhooks/deliveries/attempt.ts';
import { DeliveryStarter } from '../../src/webhooks/relay/delivery-workflow.client.ts';
import { installTestRuntime } from '../setup/temporal-runtime.ts';
import { workflowBundle } from '../setup/workflow-bundle.ts';

/** Attempts until the delivery is accepted: more than fit into one history. */
const ATTEMPTS = 180;
const TRACE = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

describe('a delivery whose history grows long', () => {
  let connection: NativeConnection;
  beforeAll(async () => {
    installTestRuntime();
    connection = await NativeConnection.connect({ address: inject('temporalAddress') });
  });
  afterAll(() => connection.close());

  it('continues as new', async () => {
    const namespace = inject('temporalNamespace');
    const client = createTemporalClient(connection, { namespace });
    const queue = `test-${randomUUID()}`;
    const taskQueues = { main: queue, attempts: `${queue}-attempts`, slow: `${queue}-slow` };
    const deliveryId = randomUUID();
    const handle = client.workflow.getHandle(deliveryWorkflowId(deliveryId, 0));
    const made: number[] = [];
    const traces = new Set<string | undefined>();
    // Every attempt waits for its endpoint, which opens before the workflow has heard that it is closed.
    const sendDelivery = async ({ n, trace }: AttemptRequest): Promise<SendResult> => {
      made.push(n);
      traces.add(trace);
      const last = { n, outcome: 'http:500' };
      if (n === ATTEMPTS) return { kind: 'settled', step: { kind: 'ended', status: 'delivered' }, last };
      await handle.signal('wake', n);
      return { kind: 'settled', step: { kind: 'held', epoch: n }, last };
    };
    const worker = await createDeliveryWorker({
      connection,
      namespace,
      taskQueues,
      activities: { sendDelivery, recordAttempt: () => Promise.reject(new Error('nothing to record')) },
      workflows: await workflowBundle(),
    });
    const running = worker.run();
    const starter = new DeliveryStarter({ client, taskQueues });
    await starter.start({
      deliveryId,
      generation: 0,
      tenantId: randomUUID(),
      subscriptionId: randomUUID(),
      eventType: 'org.created',
      host: 'example.com',
      n: 1,
      local: false,
      trace: TRACE,
    });
    expect(await handle.result()).toEqual({ status: 'delivered', attempts: ATTEMPTS, outcome: 'http:500' });
    expect(made).toEqual(Array.from({ length: ATTEMPTS }, (_, n) => n + 1));
    expect([...traces]).toEqual([TRACE]);
    const { historyLength, runId } = await handle.describe();
    expect(historyLength).toBeLessThan(1_100);
    const [first] = (await handle.fetchHistory()).events ?? [];
    expect(first?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId).not.toBe('');
    expect(first?.workflowExecutionStartedEventAttributes?.firstExecutionRunId).not.toBe(runId);
    worker.shutdown();
    await running;
  });
});
