// `npm run bench -- abuse`: what a quiet tenant waits while another one abuses each kind of route, as a ratio to what
// it waits alone. The quiet tenant sends a few requests a second of every kind; the other one as many as its
// connections carry.
import { fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { connect, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { findFreePort } from '#dist/src/app/local/ports.js';
import { GUARD_KINDS, measureGuardKinds } from './abuse-guard.mjs';
import { KINDS, MANNERS, openParty, subscribe } from './abuse-kinds.mjs';
import { percentile } from './delivery-load.mjs';
import { prepareDatabase } from './prepare-database.mjs';
import { cpuSeconds, pinToCore, residentMemory } from './processes.mjs';
import { createTenant, end, openPostgres, ready, startRole } from './service.mjs';

const SELF = fileURLToPath(import.meta.url);
/** The argument of the processes that load by orders of the one that measures. */
const ORDERS = 'by-orders';

/** Milliseconds between two requests of a connection of the quiet tenant, which has two of them. */
const PAUSE = 10;

/** Requests that are sent together on one connection. */
const BURST = 200;

/** The kinds of abuse. */
export const ABUSES = [...Object.keys(KINDS), ...Object.keys(GUARD_KINDS)];

/** What a tenant needs that only wants to go on. */
const QUIET = ['key set', 'tokens', 'challenges', 'lists of agents', 'changes of one agent'];

if (process.send !== undefined && process.argv[2] === ORDERS) serveOrders();

/**
 * @param options `kinds` of abuse; without, all. `apart`: the other one has a separate process on the same core and
 *   database; what the operating system divides is the floor of the ratios
 * @returns for each kind of abuse: p50 and p99 (ms) of the quiet tenant, their ratio to alone, what the other one was
 *   answered, the CPU of the process for each of these answers (ms), and its memory afterwards (MiB)
 */
export async function measureAbuse({ seconds, connections, kinds: named = ABUSES, apart, profile }) {
  const options = { seconds, connections, apart, profile };
  const [guarded, kinds] = [true, false].map((isGuard) =>
    named.filter((kind) => kind in GUARD_KINDS === isGuard),
  );
  const fanned = kinds.filter((kind) => MANNERS[kind]?.subscriptions !== undefined);
  const [near, others] = [true, false].map((here) =>
    kinds.filter((kind) => !fanned.includes(kind) && !!MANNERS[kind]?.asksHere === here),
  );
  const measured = [];
  if (others.length > 0)
    measured.push(await measureKinds({ ...options, kinds: others, nodeEnv: 'production' }));
  // In production a key set is on no private address. Their ratios are to what this service takes alone.
  if (near.length > 0) measured.push(await measureKinds({ ...options, kinds: near, nodeEnv: 'development' }));
  // Each in a service of its own, whose other tenant has the subscriptions. Their ratios are to publishing alone.
  for (const kind of fanned)
    measured.push(
      await measureKinds({ ...options, kinds: [kind], nodeEnv: 'production', quietOnes: [kind] }),
    );
  // Their ratios are to what a guard takes alone.
  if (guarded.length > 0) measured.push(await measureGuardKinds({ seconds, kinds: guarded }));
  return { alone: measured[0].alone, rows: Object.assign({}, ...measured.map(({ rows }) => rows)) };
}

async function measureKinds({ seconds, connections, kinds, apart, profile, nodeEnv, quietOnes = QUIET }) {
  const postgres = await openPostgres();
  const children = [];
  try {
    const { port, loudPort, pid, quiet, loud } = await startService(postgres.url, children, {
      apart,
      profile,
      nodeEnv,
    });
    await subscribe(loudPort, loud, MANNERS[kinds[0]]?.subscriptions ?? 0);
    const [quietLoad, loudLoad] = [fork(SELF, [ORDERS]), fork(SELF, [ORDERS])];
    children.push(quietLoad, loudLoad);
    const order = async (child, message) => {
      const answered = once(child, 'message');
      child.send(message);
      return (await answered)[0];
    };
    const calm = { port, kinds: quietOnes, connections: 2, pause: PAUSE };
    const measure = async (kind) => {
      const noise =
        kind &&
        order(loudLoad, {
          port: loudPort,
          party: loud,
          kinds: [kind],
          connections,
          ...MANNERS[kind],
          seconds: seconds + 1,
        });
      const cpu = cpuSeconds(pid);
      await sleep(1_000);
      const party = MANNERS[kind]?.isWithin ? loud : quiet;
      const { latencies, statuses } = await order(quietLoad, { ...calm, party, seconds });
      const answered = Object.values((await noise)?.statuses ?? {}).reduce((sum, count) => sum + count, 0);
      return {
        cpu: ((cpuSeconds(pid) - cpu) * 1_000) / answered,
        p50: percentile(latencies, 0.5),
        p99: percentile(latencies, 0.99),
        quiet: statuses,
        loud: (await noise)?.statuses,
        memory: residentMemory(pid),
      };
    };
    await measure(undefined);
    const rows = {};
    const alone = [];
    for (const kind of kinds) {
      alone.push(await measure(undefined));
      rows[kind] = await measure(kind);
    }
    const [p50, p99] = ['p50', 'p99'].map((name) =>
      percentile(
        alone.map((row) => row[name]),
        0.5,
      ),
    );
    const base = { p50, p99, memory: alone[0]?.memory };
    for (const row of Object.values(rows))
      Object.assign(row, { ratio50: row.p50 / base.p50, ratio99: row.p99 / base.p99 });
    return { alone: base, rows };
  } finally {
    await Promise.all(children.map(end));
    await postgres.close();
  }
}

export function describeAbuse({ alone, rows }) {
  const answers = (statuses) =>
    Object.entries(statuses)
      .map(([status, count]) => `${count} × ${status}`)
      .join(', ');
  return [
    `a quiet tenant alone: p50 ${alone.p50.toFixed(1)} p99 ${alone.p99.toFixed(1)} ms, ${alone.memory} MiB`,
    ...Object.entries(rows).map(
      ([kind, { p50, p99, ratio50, ratio99, cpu, memory, quiet, loud }]) =>
        `${kind.padEnd(34)} p50 ${p50.toFixed(1)} (× ${ratio50.toFixed(1)}) p99 ${p99.toFixed(1)} (× ${ratio99.toFixed(1)}) ${cpu.toFixed(2)} ms ${memory} MiB  quiet: ${answers(quiet)}; loud: ${answers(loud)}`,
    ),
  ].join('\n');
}

async function startService(databaseUrl, children, { apart, profile, nodeEnv }) {
  const [masterKey, auditKey] = [randomBytes(32), randomBytes(32)].map((key) => key.toString('base64'));
  await prepareDatabase(databaseUrl, auditKey);
  const limits = ['TENANT', 'ADDRESS', 'PUBLISH'].map((name) => [`RATE_LIMIT_${name}`, '100000000']);
  const environment = {
    PATH: process.env.PATH,
    NODE_ENV: nodeEnv,
    DATABASE_URL: databaseUrl,
    MASTER_KEY: masterKey,
    AUDIT_KEY: auditKey,
    PUBLIC_URL: 'http://localhost',
    FIRST_ATTEMPTS: 'worker',
    BACKLOG_LIMIT: '1000000000',
    LOG_FORMAT: 'json',
    LOG_LEVEL: 'error',
    // All kinds are measured with the first tokens.
    ACCESS_TOKEN_LIFETIME: '3600',
    WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
    ...Object.fromEntries(limits),
  };
  const created = [];
  for (const slug of ['quiet', 'loud']) created.push(await createTenant(slug, environment));
  const startApi = async () => {
    const port = await findFreePort();
    const child = startRole('api', { ...environment, PORT: String(port) }, profile);
    children.push(child);
    pinToCore(child.pid);
    await ready(`http://127.0.0.1:${port}/healthz`, child);
    return { port, pid: child.pid };
  };
  const { port, pid } = await startApi();
  const { port: loudPort } = apart ? await startApi() : { port };
  const keysUri = nodeEnv === 'production' ? undefined : await hang();
  const [quiet, loud] = await Promise.all(created.map((one) => openParty(port, one, keysUri)));
  return { port, loudPort, pid, quiet, loud };
}

/** Accepts connections and answers nothing. */
async function hang() {
  const server = createServer((socket) => socket.unref().on('error', () => undefined));
  await once(server.unref().listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/keys`;
}

/** In a process of its own: sends what it is told to, and tells how long the answers took. */
function serveOrders() {
  process.on('message', async (/** @type {Parameters<typeof load>[0]} */ order) =>
    process.send(await load(order)),
  );
}

async function load({ port, party, kinds, connections, pause = 0, way = 'plain', seconds }) {
  const latencies = [];
  const statuses = {};
  const until = performance.now() + seconds * 1_000;
  const one = async (_, index) => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    for (let n = index; performance.now() < until; n += 1) {
      const begun = performance.now();
      const wanted = KINDS[kinds[n % kinds.length]](party, n);
      const status = await (WAYS[way] ?? send)(port, agent, party, wanted);
      if (pause > 0) latencies.push(performance.now() - begun);
      statuses[status] = (statuses[status] ?? 0) + 1;
      // A refused client obeys no `Retry-After` here, but it does not turn into a loop of errors either.
      await sleep(pause > 0 ? pause : status === 429 ? 5 : 0);
    }
    agent.destroy();
  };
  await Promise.all(Array.from({ length: connections }, one));
  return { latencies, statuses };
}

function send(port, agent, { prefix }, { method = 'POST', path, headers = {}, body }) {
  return new Promise((resolve) => {
    const outgoing = request(
      {
        port,
        host: '127.0.0.1',
        agent,
        method,
        path: prefix + path,
        headers: body === undefined ? headers : { ...headers, 'content-length': Buffer.byteLength(body) },
      },
      (response) => {
        response.resume();
        response.on('end', () => resolve(response.statusCode));
        response.on('error', () => resolve('broken'));
      },
    );
    outgoing.on('error', () => resolve('broken'));
    outgoing.end(body);
  });
}

/** A connection and the text of a request's head. */
function open(port, { prefix }, { method = 'POST', path, headers = {}, body }) {
  const fields = {
    host: 'localhost',
    ...headers,
    ...(body && { 'content-length': Buffer.byteLength(body) }),
  };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  const socket = connect({ port, host: '127.0.0.1' }).on('error', () => undefined);
  return { socket, head: `${method} ${prefix}${path} HTTP/1.1\r\n${lines.join('')}\r\n` };
}

/** Asks many times on one connection, and takes nothing of the answers until the connection is ended. */
async function ignore(port, _agent, party, wanted) {
  const { socket, head } = open(port, party, wanted);
  socket.pause().write(head.repeat(50));
  await Promise.race([once(socket, 'close'), sleep(2_000)]);
  socket.destroy();
  return 'untaken';
}

/** Sends a part of the body, and ends the connection when nothing else comes of it. */
async function stall(port, _agent, party, wanted) {
  const { socket, head } = open(port, party, wanted);
  socket.write(head + wanted.body.slice(0, 60_000));
  const data = once(socket, 'data').then(([text]) => String(text).slice(9, 12));
  const status = await Promise.race([data, once(socket, 'close').then(() => 'ended'), sleep(2_000)]);
  socket.destroy();
  return status ?? 'stalled';
}

/** Sends many requests together on one connection, and takes all answers. */
async function burst(port, _agent, party, wanted) {
  const { socket, head } = open(port, party, wanted);
  const last = head.replace('host:', 'connection: close\r\nhost:');
  socket.setEncoding('latin1').write(head.repeat(BURST - 1) + last);
  let count = 0;
  socket.on('data', (text) => {
    count += String(text).split('HTTP/1.1 ').length - 1;
  });
  await once(socket, 'close');
  return count === BURST ? `burst of ${BURST}` : 'burst cut short';
}

const WAYS = { untaken: ignore, stalled: stall, pipelined: burst };
