// A noisy neighbour: one tenant has thousands of deliveries for an endpoint that takes 5 s, another one a second for a
// fast one.

import { warmUp } from './deliveries.mjs';
import { drain, percentile, publish, take } from './delivery-load.mjs';
import { openDeliveryStack } from './delivery-stack.mjs';

/**
 * @param options `deliveries` of the noisy tenant; `seconds` for which the quiet tenant publishes beside it, a third of
 *   them alone before
 * @returns `alone` and `beside`: published, received, p50 and p99 (ms) of the quiet tenant; `noisy`: deliveries that
 *   ended meanwhile
 */
export async function measureNoisy(options) {
  const stack = await openDeliveryStack(options);
  try {
    const [fast, slow] = [await stack.startReceiver('healthy'), await stack.startReceiver('slow')];
    const neighbour = await stack.openTenant('noisy');
    await stack.subscribe(stack.tenant, fast, 1);
    await stack.subscribe(neighbour, slow, 1);
    const quiet = { rate: 1, connections: 4, endpoints: 1 };
    await warmUp(stack.tenant, fast, { ...quiet, rate: 20 });
    const alone = await measureQuiet(stack, fast, { ...quiet, count: Math.ceil(options.seconds / 3) });
    await publish(neighbour, { connections: options.connections, endpoints: 1, count: options.deliveries });
    const beside = await measureQuiet(stack, fast, { ...quiet, count: options.seconds });
    const { received } = await take(slow);
    return { alone, beside, noisy: { published: options.deliveries, received: received.length } };
  } finally {
    await stack.close();
  }
}

async function measureQuiet({ tenant }, receiver, load) {
  const { published } = await publish(tenant, load);
  await drain(receiver, published);
  const latencies = (await take(receiver)).received.map(({ latency }) => latency);
  return {
    published,
    received: latencies.length,
    p50: percentile(latencies, 0.5),
    p99: percentile(latencies, 0.99),
  };
}
