// Attempts inside a workflow's task, and those after it, are of the same trace; what was not traced stays so.
import { randomUUID } from 'node:crypto';
import { NativeConnection } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { createTemporalClient } from '../../../src/platform/temporal/client.ts';
import { deliveryWorkflowId } from '../../../src/platform/temporal/names.ts';
import { createDeliveryWorker } from '../../../src/platform/temporal/worker.ts';
import type { SendResult } from '../../../src/webhooks/deliveries/attempt.ts';
import { DeliveryStarter } from '../../../src/webhooks/relay/delivery-workflow.client.ts';
import { workflowBundle } from '../../setup/workflow-bundle.ts';
import { installRuntimeOnce } from '../../workflows/delivery-engine.ts';
import { tracerWithSpans } from './spans.ts';

const TRACE = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

describe('attempts of a traced delivery', () => {
  let connection: NativeConnection;
  beforeAll(async () => {
    installRuntimeOnce();
    connection = await NativeConnection.connect({ address: inject('temporalAddress') });
  });
  afterAll(() => connection?.close());

  it.each([
    [TRACE, ['RunActivity:sendDelivery', 'RunActivity:sendDelivery']],
    [undefined, []],
  ])('with the trace %s', async (trace, names) => {
    const { tracer: tracing, spans: ended } = tracerWithSpans('always_on');
    const client = createTemporalClient(connection, { namespace: inject('temporalNamespace') });
    const queue = `test-${randomUUID()}`;
    const taskQueues = { main: queue, attempts: `${queue}-attempts`, slow: `${queue}-slow` };
    const underWay: (string | undefined)[] = [];
    const sendDelivery = async ({ n }: { n: number }): Promise<SendResult> => {
      underWay.push(tracing.current());
      const last = { n, outcome: n === 1 ? 'http:500' : 'http:204' };
      if (n === 1) return { kind: 'settled', step: { kind: 'wait', delayMs: 10 }, last };
      return { kind: 'settled', step: { kind: 'ended', status: 'delivered' }, last };
    };
    const worker = await createDeliveryWorker({
      connection,
      namespace: inject('temporalNamespace'),
      taskQueues,
      activities: { sendDelivery, recordAttempt: () => Promise.reject(new Error('nothing to record')) },
      workflows: await workflowBundle(),
      tracing,
    });
    const running = worker.run();
    const deliveryId = randomUUID();
    await new DeliveryStarter({ client, taskQueues }).start({
      deliveryId,
      generation: 0,
      tenantId: randomUUID(),
      subscriptionId: randomUUID(),
      eventType: 'org.created',
      host: 'example.com',
      n: 1,
      local: true,
      trace,
    });
    const handle = client.workflow.getHandle(deliveryWorkflowId(deliveryId, 0));
    expect(await handle.result()).toMatchObject({ status: 'delivered', attempts: 2 });
    worker.shutdown();
    await running;
    const spans = ended();
    expect(spans.map(({ name }) => name)).toEqual(names);
    expect(underWay.filter((current) => current !== undefined)).toHaveLength(names.length);
    for (const { traceId, parentSpanId } of spans)
      expect([traceId, parentSpanId]).toEqual([TRACE.slice(3, 35), TRACE.slice(36, 52)]);
    const isLocal = spans.map(({ attributes }) => attributes['countersign.local']);
    expect(isLocal).toEqual(trace === undefined ? [] : [true, false]);
  });
});
