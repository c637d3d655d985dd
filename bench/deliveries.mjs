// Deliveries of events that are published one by one, from the publish call to their arrival, with what all processes used for them.

import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { openDeliveryStack } from './delivery-stack.mjs';
import { openConnection } from './http-connection.mjs';
import { cpuSeconds, cpuSecondsOfTree } from './processes.mjs';

/** Milliseconds until code is compiled, statements are planned and the lanes are known to be fast. */
const WARM_UP = 4_000;

/** Milliseconds without an arrival after which what is missing counts as lost. */
const PATIENCE = 20_000;

const FILLER = 'x'.repeat(380);
const now = () => performance.timeOrigin + performance.now();

/**
 * @param options.rate events a second, evenly; 0: as fast as `connections` publishers can
 * @returns published, received, seconds from the first publication to the last arrival, rate, p50 and p99 (ms), CPU ms a delivery by part,
 *   transactions and bytes of WAL a delivery
 */
export async function measureDeliveries(options) {
  const stack = await openDeliveryStack(options);
  try {
    // A receiver that refuses each first attempt is met cold: a warm endpoint is another case.
    if (options.receiver !== 'first') {
      await publish(stack, { ...options, rate: options.rate || 200, milliseconds: WARM_UP });
      await drain(stack);
      await take(stack);
    }
    const writesBefore = await writes(stack);
    const before = usage(stack);
    if (options.receiver === 'away') stack.receiver.send('away');
    const begun = now();
    const published = await publish(stack, { ...options, milliseconds: options.seconds * 1_000 });
    const publishing = (now() - begun) / 1_000;
    await drain(stack, published);
    const received = await take(stack);
    const after = usage(stack);
    const writesAfter = await writes(stack);
    const latencies = received.map(({ latency }) => latency).sort((a, b) => a - b);
    const at = (share) => latencies[Math.floor(latencies.length * share)] ?? Number.NaN;
    const seconds = (Math.max(...received.map((one) => one.at)) - begun) / 1_000;
    const cpu = Object.fromEntries(
      Object.keys(after).map((part) => [part, ((after[part] - before[part]) * 1_000) / received.length]),
    );
    return {
      published,
      publishing,
      received: received.length,
      seconds,
      rate: received.length / seconds,
      p50: at(0.5),
      p99: at(0.99),
      cpu,
      transactions: (writesAfter.transactions - writesBefore.transactions) / received.length,
      walBytes: (writesAfter.bytes - writesBefore.bytes) / received.length,
    };
  } finally {
    await stack.close();
  }
}

async function publish({ port, authorization }, { rate, connections, endpoints, milliseconds }) {
  const end = now() + milliseconds;
  const begun = now();
  let sent = 0;
  const publisher = async () => {
    const connection = await openConnection(port);
    const headers = { authorization, 'content-type': 'application/json' };
    while (now() < end) {
      const n = sent++;
      if (rate > 0) await sleep(Math.max(0, begun + (n * 1_000) / rate - now()));
      const type = `bench.endpoint.e${n % endpoints}`;
      const body = JSON.stringify({ type, data: { published_at: now(), filler: FILLER } });
      const { status } = await connection.post({ path: '/api/v1/events', headers, body });
      if (status !== 202) throw new Error(`publishing was answered ${status}`);
    }
    connection.close();
  };
  await Promise.all(Array.from({ length: connections }, publisher));
  return sent;
}

const ask = async ({ receiver }, message) => {
  const answer = once(receiver, 'message');
  receiver.send(message);
  return (await answer)[0];
};
const take = (stack) => ask(stack, 'take');

async function drain(stack, expected = Number.POSITIVE_INFINITY) {
  let last = -1;
  for (
    let since = now();
    now() - since < (expected === Number.POSITIVE_INFINITY ? 2_000 : PATIENCE);
    await sleep(100)
  ) {
    const count = await ask(stack, 'count');
    if (count >= expected) return;
    if (count > last) since = now();
    last = count;
  }
}

/** Transactions and bytes of WAL since the server began, with what the polls of all parts add. */
async function writes({ databaseUrl }) {
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

function usage({ pids, postgres }) {
  const sum = (list) => list.reduce((total, pid) => total + cpuSeconds(pid), 0);
  return {
    api: sum(pids.api),
    worker: sum(pids.worker),
    temporal: sum(pids.temporal),
    postgres: cpuSecondsOfTree(postgres),
  };
}
