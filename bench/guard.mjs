// The guard of `.ci/run`: the CPU of a token and of a delivery as a ratio to their floors in the same run, on one
// stack. CPU time depends little on who else uses the machine.
import { measureWindow, serviceOf, startDeliveryFloor, summarize } from './deliveries.mjs';
import { openDeliveryStack } from './delivery-stack.mjs';
import { startFloor } from './floor-process.mjs';
import { compareTargets } from './requests.mjs';
import { isDecided, MOST } from './verdict.mjs';

/** Numbers and no times: how well code is compiled and statements are planned depends on what was done before. */
const LOAD = { connections: 32, endpoints: 1, rate: 0, count: 3_000 };
const TOKENS = { scenario: 'tokens', connections: 32, rounds: 2 };
const REQUESTS = { measured: 5_000, warmUp: 10_000, warmUpAgain: 2_000 };
const ROUNDS = 2;

/** @returns for `token` and `delivery`: `ratios` of the tries, and `most`; nothing where CPU times cannot be read */
export async function measureGuard() {
  if (process.platform !== 'linux') return {};
  const stack = await openDeliveryStack({ workers: 1 });
  try {
    const parts = await startParts(stack);
    // Tokens come last: their audit rows are sealed afterwards.
    const delivery = await tryOften('delivery', (n) => measureDelivery(stack, parts, n));
    return { delivery, token: await tryOften('token', (n) => measureToken(stack, parts, n)) };
  } finally {
    await stack.close();
  }
}

/** @returns `floor` and `service` (of requests), `deliveryFloor` and `receiver`, all on one stack */
async function startParts(stack) {
  const receiver = await stack.startReceiver('healthy');
  await stack.subscribe(stack.tenant, receiver, LOAD.endpoints);
  const deliveryFloor = await startDeliveryFloor(stack, receiver);
  const { child, ...floor } = await startFloor(stack.databaseUrl, { algorithm: 'ed25519', keys: [] });
  stack.children.add(child);
  const inputs = { authorization: stack.tenant.basic, form: floor.inputs.form };
  return { receiver, deliveryFloor, floor, service: { pid: stack.pids.api[0], port: stack.port, inputs } };
}

async function tryOften(name, measure) {
  const one = { ratios: [], most: MOST[name] };
  while (!isDecided(one)) one.ratios.push(await measure(one.ratios.length));
  return one;
}

async function measureToken(stack, { floor, service }, n) {
  const { measured, warmUp, warmUpAgain } = REQUESTS;
  const requests = { measured, warmUp: n === 0 ? warmUp : warmUpAgain };
  const { ratio } = await compareTargets(stack, { floor, service }, { ...TOKENS, requests });
  return ratio.all;
}

/** Windows of floor and service in turn; before the first try each is warmed up by one more. */
async function measureDelivery(stack, { deliveryFloor, receiver }, n) {
  const targets = [deliveryFloor, serviceOf(stack)];
  const windows = targets.map(() => []);
  for (let round = n === 0 ? -1 : 0; round < ROUNDS; round += 1)
    for (const [index, target] of targets.entries()) {
      const window = await measureWindow(stack, target, receiver, LOAD);
      if (round >= 0) windows[index].push(window);
    }
  const [floor, service] = windows.map((all) => summarize(all).cpu.all);
  return service / floor;
}
