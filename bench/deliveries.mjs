// Deliveries of events that are published one by one, from the publish call to their arrival, with what all processes
// used for them, beside a floor that does only that.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { drain, now, percentile, publish, take } from './delivery-load.mjs';
import { openDeliveryStack } from './delivery-stack.mjs';
import { cpuSeconds, cpuSecondsOfTree } from './processes.mjs';

const FLOOR = fileURLToPath(new URL('./delivery-floor.mjs', import.meta.url));

/**
 * Deliveries a second, and milliseconds, until code is compiled, statements are planned and the endpoints are known to be
 * fast. A load of 50 a second would need a minute for that.
 */
const WARM_UP = { rate: 500, milliseconds: 4_000 };

/**
 * @param options `scenario`: healthy, or how the receiver fails (flaky, away): the floor, which tries nothing again, has
 *   no part in that
 * @returns `service` and `floor`: published, received, rate, p50 and p99 (ms) from the publish call to the arrival,
 *   publish (p50 and p99 of the call), cpu (ms a delivery by part); `ratio` of the service to the floor: rate, cpu;
 *   transactions and bytes of WAL a delivery
 */
export async function measureDeliveries(options) {
  const stack = await openDeliveryStack(options);
  try {
    const receiver = await stack.startReceiver(options.scenario);
    await stack.subscribe(stack.tenant, receiver, options.endpoints);
    if (options.scenario === 'healthy') {
      const floor = await startDeliveryFloor(stack, receiver);
      return await compareDeliveries(stack, { floor, receiver }, options);
    }
    // An endpoint that refuses each first attempt is met for the first time, by processes that have worked before.
    if (options.scenario === 'flaky') await warmUpBeside(stack, options);
    else await warmUp(stack.tenant, receiver, options);
    if (options.scenario === 'away') receiver.child.send('away');
    return { service: summarize([await measureWindow(stack, serviceOf(stack), receiver, options)]) };
  } finally {
    await stack.close();
  }
}

/** Floor and service in turn, on a stack that runs and subscribes the receiver. */
export async function compareDeliveries(stack, { floor, receiver }, options) {
  const targets = { floor, service: serviceOf(stack) };
  for (const target of Object.values(targets)) await warmUp(target, receiver, options);
  const windows = { floor: [], service: [] };
  const writes = { transactions: 0, bytes: 0 };
  for (let round = 0; round < options.rounds; round += 1) {
    windows.floor.push(await measureWindow(stack, targets.floor, receiver, options));
    const before = await readWrites(stack);
    windows.service.push(await measureWindow(stack, targets.service, receiver, options));
    const after = await readWrites(stack);
    writes.transactions += after.transactions - before.transactions;
    writes.bytes += after.bytes - before.bytes;
  }
  const [ofFloor, service] = [summarize(windows.floor), summarize(windows.service)];
  service.transactions = writes.transactions / service.received;
  service.walBytes = writes.bytes / service.received;
  const ratio = { rate: service.rate / ofFloor.rate, cpu: service.cpu.all / ofFloor.cpu.all };
  return { floor: ofFloor, service, ratio };
}

/** @returns the target of a load, with the processes to count */
export async function startDeliveryFloor(stack, receiver) {
  const child = fork(FLOOR, [stack.databaseUrl, String(receiver.port)], {
    env: { ...process.env, NODE_ENV: 'production' },
  });
  stack.children.add(child);
  const [{ port }] = await once(child, 'message');
  return { port, path: '', authorization: 'none', pids: { floor: [child.pid] } };
}

export const serviceOf = ({ tenant, pids }) => ({ ...tenant, pids });

/** Publishes for a while and waits until all has arrived. */
export async function warmUp(target, receiver, options) {
  const { published } = await publish(target, {
    ...options,
    rate: WARM_UP.rate,
    count: undefined,
    milliseconds: WARM_UP.milliseconds,
  });
  await drain(receiver, published);
  await take(receiver);
}

/** The same with another tenant and a receiver that takes all. */
async function warmUpBeside(stack, options) {
  const [neighbour, receiver] = [await stack.openTenant('warm'), await stack.startReceiver('healthy')];
  await stack.subscribe(neighbour, receiver, options.endpoints);
  await warmUp(neighbour, receiver, options);
}

/** @param options `count`: events, or else `seconds` for which they are published */
export async function measureWindow(stack, target, receiver, options) {
  const before = readCpu(target, stack);
  const begun = now();
  const load = options.count === undefined ? { milliseconds: options.seconds * 1_000 } : {};
  const { published, calls } = await publish(target, { ...options, ...load });
  await drain(receiver, published);
  // The record of the last attempts comes after their arrival.
  await sleep(300);
  const after = readCpu(target, stack);
  const { received } = await take(receiver);
  const seconds = (Math.max(...received.map(({ at }) => at)) - begun) / 1_000;
  const cpu = Object.fromEntries(Object.keys(after).map((part) => [part, after[part] - before[part]]));
  return { published, calls, latencies: received.map(({ latency }) => latency), seconds, cpu };
}

export function summarize(windows) {
  const sum = (of) => windows.reduce((total, window) => total + of(window), 0);
  const latencies = windows.flatMap((window) => window.latencies);
  const calls = windows.flatMap((window) => window.calls);
  const received = latencies.length;
  const cpu = Object.fromEntries(
    Object.keys(windows[0].cpu).map((part) => [part, (sum((one) => one.cpu[part]) * 1_000) / received]),
  );
  return {
    published: calls.length,
    received,
    rate: received / sum(({ seconds }) => seconds),
    p50: percentile(latencies, 0.5),
    p99: percentile(latencies, 0.99),
    publish: { p50: percentile(calls, 0.5), p99: percentile(calls, 0.99) },
    cpu: { all: Object.values(cpu).reduce((total, part) => total + part, 0), ...cpu },
  };
}

/** Transactions and bytes of WAL since the server began, with what the polls of all parts add. */
async function readWrites({ databaseUrl }) {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  // A backend reports its transactions when it is idle, once a second at most.
  await sleep(1_500);
  const { rows } = await client.query(
    `SELECT (SELECT sum(xact_commit)::float8 FROM pg_stat_database) AS transactions,
       pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 AS bytes`,
  );
  await client.end();
  return rows[0];
}

/**
 * CPU seconds by part. While the floor is measured the service's processes are idle, and their polls count for its
 * Postgres.
 */
function readCpu({ pids }, { postgres }) {
  const sum = (list) => list.reduce((total, pid) => total + cpuSeconds(pid), 0);
  const parts = Object.entries(pids).map(([part, list]) => [part, sum(list)]);
  return { ...Object.fromEntries(parts), postgres: cpuSecondsOfTree(postgres) };
}
