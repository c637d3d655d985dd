// Memory over an hour: a tenant whose receiver takes all, one whose receiver refuses each first attempt, and one whose
// receiver is gone.
import { percentile, publish, take } from './delivery-load.mjs';
import { openDeliveryStack } from './delivery-stack.mjs';
import { cpuSeconds, residentMemory } from './processes.mjs';
import { say } from './service.mjs';

/** Events a second for each receiver. */
const RATES = { healthy: 20, flaky: 5, dead: 5 };
const MINUTE = 60_000;

/**
 * @param options `minutes` of load
 * @returns `minutes`: of each the p50 and p99 (ms) from publication to arrival at the healthy receiver, what arrived
 *   there and at the flaky one, and of each part the resident memory (MiB) and the CPU (seconds); `growth`: of each part
 *   the mean memory of the last third to that of the second
 */
export async function measureSoak({ minutes: count, connections }) {
  const stack = await openDeliveryStack({ workers: 1 });
  try {
    const loads = await openLoads(stack);
    const minutes = [];
    while (minutes.length < count) {
      minutes.push(await measureMinute(stack, loads, connections));
      say(`${minutes.length}. ${JSON.stringify(minutes.at(-1))}`);
    }
    return { minutes, growth: compareThirds(minutes) };
  } finally {
    await stack.close();
  }
}

async function openLoads(stack) {
  const loads = [];
  for (const [kind, rate] of Object.entries(RATES)) {
    const receiver = await stack.startReceiver(kind);
    const tenant = await stack.openTenant(kind);
    await stack.subscribe(tenant, receiver, 1);
    if (kind === 'dead') receiver.child.disconnect();
    loads.push({ kind, rate, receiver, tenant });
  }
  return loads;
}

async function measureMinute(stack, loads, connections) {
  const before = ofParts(stack, cpuSeconds);
  await Promise.all(
    loads.map(async ({ rate, tenant }) => {
      // A token lives for an hour.
      const target = await stack.authorize(tenant);
      await publish(target, { rate, connections, endpoints: 1, milliseconds: MINUTE });
    }),
  );
  const arrived = {};
  for (const { kind, receiver } of loads)
    if (kind !== 'dead') arrived[kind] = (await take(receiver)).received.map(({ latency }) => latency);
  const { healthy, flaky } = arrived;
  const used = Object.entries(ofParts(stack, cpuSeconds));
  return {
    p50: percentile(healthy, 0.5),
    p99: percentile(healthy, 0.99),
    healthy: healthy.length,
    flaky: flaky.length,
    memory: ofParts(stack, residentMemory),
    cpu: Object.fromEntries(used.map(([part, seconds]) => [part, seconds - before[part]])),
  };
}

const ofParts = ({ pids }, read) =>
  Object.fromEntries(Object.entries(pids).map(([part, [pid]]) => [part, read(pid)]));

/** The first third warms up: code is compiled, and pools fill. */
function compareThirds(minutes) {
  const third = Math.ceil(minutes.length / 3);
  const mean = (some, part) => some.reduce((sum, { memory }) => sum + memory[part], 0) / some.length;
  return Object.fromEntries(
    Object.keys(minutes[0].memory).map((part) => [
      part,
      mean(minutes.slice(-third), part) / mean(minutes.slice(-2 * third, -third), part),
    ]),
  );
}
