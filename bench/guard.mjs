// The guard of `.ci/run`: the CPU of a token and of a delivery as a ratio to their floors in the same run, on one stack. CPU time depends
// little on who else uses the machine.
import { measureWindow, serviceOf, summarize, warmUp } from './deliveries.mjs';
import { openDeliveryStack } from './delivery-stack.mjs';
import { startParts } from './parts.mjs';
import { compareTargets } from './requests.mjs';
import { holds, MOST } from './verdict.mjs';

const TRIES = 3;
const LOAD = { connections: 32, endpoints: 1, rate: 0, count: 1_500 };

/** @returns for `token` and `delivery`: `ratios` of the tries, and `most`; nothing where CPU times cannot be read */
export async function measureGuard() {
  if (process.platform !== 'linux') return {};
  const stack = await openDeliveryStack({ mode: 'retries', workers: 1 });
  try {
    const parts = await startParts(stack, LOAD);
    return {
      token: await tryOften('token', () => measureToken(stack, parts)),
      delivery: await tryOften('delivery', () => measureDelivery(stack, parts)),
    };
  } finally {
    await stack.close();
  }
}

async function tryOften(name, measure) {
  const one = { ratios: [], most: MOST[name] };
  do one.ratios.push(await measure());
  while (!holds(one) && one.ratios.length < TRIES);
  return one;
}

async function measureToken(stack, { floor, service }) {
  const { ratio } = await compareTargets(
    stack,
    { floor, service },
    { ...LOAD, scenario: 'tokens', seconds: 2, rounds: 2 },
  );
  return ratio.all;
}

async function measureDelivery(stack, { deliveryFloor, receiver }) {
  const costs = [];
  for (const target of [deliveryFloor, serviceOf(stack)]) {
    await warmUp(target, receiver, LOAD);
    const { cpu } = summarize([await measureWindow(stack, target, receiver, LOAD)]);
    costs.push(cpu.all);
  }
  return costs[1] / costs[0];
}
