// What is measured on one stack that has everything: both floors, a receiver, and the service as the target of both
// loads.
import { startDeliveryFloor } from './deliveries.mjs';
import { startFloor } from './floor-process.mjs';

/** @returns `floor` and `service` (of requests), `deliveryFloor` and `receiver` */
export async function startParts(stack, { endpoints }) {
  const receiver = await stack.startReceiver('healthy');
  await stack.subscribe(stack.tenant, receiver, endpoints);
  const deliveryFloor = await startDeliveryFloor(stack, receiver);
  const { child, ...floor } = await startFloor(stack.databaseUrl, { algorithm: 'ed25519', keys: [] });
  stack.children.add(child);
  const inputs = { authorization: stack.tenant.basic, form: floor.inputs.form };
  const service = { pid: stack.pids.api[0], port: stack.port, inputs };
  return { receiver, deliveryFloor, floor, service };
}
