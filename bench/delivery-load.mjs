// Publishes events one by one, and waits for their arrival.
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { openConnection } from './http-connection.mjs';

/** Milliseconds without an arrival after which what is missing counts as lost. */
const PATIENCE = 20_000;

/** Milliseconds. */
const RETRY_AFTER = 1_000;

const FILLER = 'x'.repeat(380);
export const now = () => performance.timeOrigin + performance.now();

/**
 * @param target port, path and authorization
 * @param {object} load
 * @param {number} [load.rate] events a second, evenly; 0: as fast as `connections` publishers can
 * @param {number} load.connections
 * @param {number} load.endpoints
 * @param {number} [load.milliseconds]
 * @param {number} [load.count] events, or `milliseconds` for which they are published
 * @returns number of events, milliseconds that each publish call took
 */
export async function publish(target, { rate = 0, connections, endpoints, milliseconds, count }) {
  const begun = now();
  const end = milliseconds === undefined ? Number.POSITIVE_INFINITY : begun + milliseconds;
  const most = count ?? Number.POSITIVE_INFINITY;
  const calls = [];
  let sent = 0;
  const publisher = async () => {
    const connection = await openConnection(target.port);
    const headers = { authorization: target.authorization, 'content-type': 'application/json' };
    while (now() < end && sent < most) {
      const n = sent++;
      if (rate > 0) await sleep(Math.max(0, begun + (n * 1_000) / rate - now()));
      const type = `bench.endpoint.e${n % endpoints}`;
      const published_at = now();
      const body = JSON.stringify({ type, data: { published_at, filler: FILLER } });
      const request = { path: `${target.path}/api/v1/events`, headers, body };
      let { status } = await connection.post(request);
      // A machine that is busy enough makes a statement late: a publisher tries again, as the answer says.
      for (; status === 503; { status } = await connection.post(request)) await sleep(RETRY_AFTER);
      if (status !== 202) throw new Error(`publishing was answered ${status}`);
      calls.push(now() - published_at);
    }
    connection.close();
  };
  await Promise.all(Array.from({ length: Math.min(connections, most) }, publisher));
  return { published: sent, calls };
}

const ask = async ({ child }, message) => {
  const answer = once(child, 'message');
  child.send(message);
  return (await answer)[0];
};

/** @returns `received` (id, latency and time of each) and number of `attempts` since it was asked last */
export const take = (receiver) => ask(receiver, 'take');

/** Waits until so many have arrived, or none for a while. */
export async function drain(receiver, expected) {
  let last = -1;
  for (let since = now(); now() - since < PATIENCE; await sleep(50)) {
    const count = await ask(receiver, 'count');
    if (count >= expected) return;
    if (count > last) since = now();
    last = count;
  }
}

/** The value below which a share of them lies; NaN of none. */
export function percentile(values, share) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length * share)] ?? Number.NaN;
}
