// API and workers are killed with thousands of deliveries accepted and none answered, and started again: what is lost,
// and what comes twice.
import { setTimeout as sleep } from 'node:timers/promises';
import { warmUp } from './deliveries.mjs';
import { drain, now, publish, take } from './delivery-load.mjs';
import { openDeliveryStack } from './delivery-stack.mjs';

/**
 * Milliseconds without an arrival after which what is missing counts as lost: longer than a lease and a time-out
 * together.
 */
const PATIENCE = 60_000;

/**
 * @param options.deliveries that wait when the processes are killed
 * @returns published, open (attempts that were under way at the kill), lost, duplicates (attempts that were answered a
 *   second time), attempts, restarted and last: seconds from the kill until the API was ready and until the last
 *   delivery arrived
 */
export async function measureCrash(options) {
  const stack = await openDeliveryStack(options);
  try {
    const [receiver, ready] = [await stack.startReceiver('gate'), await stack.startReceiver('healthy')];
    await stack.subscribe(stack.tenant, receiver, 1);
    const warm = await stack.openTenant('warm');
    await stack.subscribe(warm, ready, 1);
    await warmUp(warm, ready, { ...options, endpoints: 1 });
    const count = options.deliveries;
    await publish(stack.tenant, { connections: options.connections, endpoints: 1, count });
    await sleep(1_000);
    const open = (await take(receiver)).attempts;
    const killed = now();
    await stack.kill();
    // The receiver notices that its senders have gone.
    await sleep(300);
    receiver.child.send('open');
    await stack.startRoles();
    const restarted = (now() - killed) / 1_000;
    await drain(receiver, count, PATIENCE);
    await sleep(2_000);
    const { received, attempts } = await take(receiver);
    const distinct = new Set(received.map(({ id }) => id));
    const first = received.filter(({ id }) => distinct.delete(id));
    return {
      published: count,
      open,
      lost: count - first.length,
      duplicates: received.length - first.length,
      attempts: attempts + open,
      restarted,
      last: (Math.max(...first.map(({ at }) => at)) - killed) / 1_000,
    };
  } finally {
    await stack.close();
  }
}
