// Receivers of every kind. They verify each delivery by the specification alone, and write down what came and what they
// answered.
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { now } from './ledger.mjs';
import { createProxy } from './proxy.mjs';
import { createRandom } from './random.mjs';

/** What a receiver answers: status, `retryAfter` in seconds, `wait` in milliseconds; without a status nothing. */
const KINDS = {
  steady: () => ({ status: 204 }),
  flaky: (random) => ({ status: random.chance(0.25) ? random.pick([500, 502, 404, 408]) : 204 }),
  busy: (random, { attempt }) => {
    if (attempt > 2 || !random.chance(0.2)) return { status: 204 };
    return { status: random.pick([503, 429]), retryAfter: 2 + random.below(3) };
  },
  choosy: (random) => ({ status: random.chance(0.15) ? random.pick([400, 422]) : 204 }),
  slow: (random, { attempt }) => {
    if (attempt === 1 && random.chance(0.03)) return {};
    return { status: random.chance(0.3) ? 500 : 204, wait: random.between(0, 2_500) };
  },
  gone: (_random, { deliveries }) => ({ status: deliveries > 25 ? 410 : 204 }),
  stubborn: () => ({ status: 500 }),
};
export const RECEIVER_KINDS = Object.keys(KINDS);

/** Two servers, each behind a proxy of its own. @returns addresses, `register` and `links` of the proxies */
export async function openReceivers({ ledger, seed }) {
  const subscribers = new Map();
  const counts = new Map();
  /** Those that get no answer. */
  const silent = new Set();
  const servers = [];
  const links = {};
  let isCalm = false;

  const answer = async (request, response) => {
    const at = now();
    const chunks = [];
    request.on('error', () => undefined);
    response.on('error', () => undefined);
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    const name = request.url.slice(1);
    const subscriber = subscribers.get(name);
    if (subscriber === undefined) return void response.writeHead(404).end();
    const delivery = request.headers['x-service-delivery'];
    const attempt = (counts.get(delivery) ?? 0) + 1;
    counts.set(delivery, attempt);
    subscriber.deliveries.add(delivery);
    const event = JSON.parse(body.toString());
    const post = {
      ...{ name, delivery, attempt, at },
      signedAt: Number(request.headers['x-service-timestamp']) * 1_000,
      eventId: event.event_id,
      marker: event.data?.marker,
      type: event.type,
      status: undefined,
      retryAfter: undefined,
      answered: undefined,
    };
    ledger.posts.push(post);
    const fault = faultOf(request.headers, body, subscriber.secret, at);
    if (fault !== undefined) ledger.violate('signature', `${delivery} to ${name}: ${fault}`);
    const kind = isCalm && !['choosy', 'gone'].includes(subscriber.kind) ? 'steady' : subscriber.kind;
    const random = createRandom(seed, kind === 'choosy' ? delivery : `${delivery}/${attempt}`);
    const plan = KINDS[kind](random, { attempt, deliveries: subscriber.deliveries.size });
    if (plan.wait !== undefined) await sleep(plan.wait);
    if (plan.status === undefined) silent.add(response);
    if (plan.status === undefined || response.destroyed) return;
    response.once('finish', () => {
      Object.assign(post, { status: plan.status, retryAfter: plan.retryAfter, answered: now() });
    });
    const headers = plan.retryAfter === undefined ? {} : { 'retry-after': String(plan.retryAfter) };
    response.writeHead(plan.status, headers).end();
  };

  for (const name of ['receivers1', 'receivers2']) {
    const server = createServer(
      (request, response) => void answer(request, response).catch(() => response.destroy()),
    );
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    servers.push(server);
    const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
    links[name] = await createProxy(() => port);
  }
  return {
    links,
    /** @returns the address of a new receiver */
    register: (name, { kind, secret, host = 0 }) => {
      subscribers.set(name, { kind, secret, deliveries: new Set() });
      const link = Object.values(links)[host % 2];
      return `http://127.0.0.1:${link.port}/${name}`;
    },
    /** From now on everything is taken but what is refused for good. */
    calm: () => {
      isCalm = true;
      for (const response of silent) response.destroy();
    },
    close: () => {
      for (const link of Object.values(links)) link.close();
      for (const server of servers) {
        server.close();
        server.closeAllConnections();
      }
    },
  };
}

/** Source: Specification, "Signature" and "Receiver rules". */
function faultOf(headers, body, secret, at) {
  const [suite, timestamp, maxAge, delivery, type] = [
    'x-service-signature-suite',
    'x-service-timestamp',
    'x-service-signature-max-age',
    'x-service-delivery',
    'x-service-event',
  ].map((name) => headers[name]);
  if (suite !== 'service-webhook-v1') return `suite ${suite}`;
  const signed = Buffer.concat([
    Buffer.from(`${[suite, timestamp, maxAge, delivery, type].join('\n')}\n`),
    body,
  ]);
  const expected = `sha256=${createHmac('sha256', secret).update(signed).digest('hex')}`;
  if (headers['x-service-signature-256'] !== expected) return 'wrong signature';
  const age = at / 1_000 - Number(timestamp);
  return age > Number(maxAge) || age < -60 ? `stale: ${age.toFixed(1)} s old` : undefined;
}
