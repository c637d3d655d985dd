// The kinds of `npm run bench -- abuse` that fill what a guard remembers: one client proves a key all the time, or ends
// agents. The guard follows an issuer in memory, and a quiet client with its own key uses it meanwhile.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { Agent, createServer, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createGuard, createMemoryReplayStore, followRevocations } from '@countersign/resource-server';
import { requireAgent } from '@countersign/resource-server/express';
import { createTestIssuer } from '@countersign/resource-server/testing';
import { percentile } from './delivery-load.mjs';
import { cpuSeconds, pinToCore, residentMemory } from './processes.mjs';
import { end } from './service.mjs';

const SELF = fileURLToPath(import.meta.url);

/** A fifth of what a guard remembers by default, so that a loud client fills its half in some seconds. */
const LIMIT = 20_000;

/** Agents that end in a second: they fill the book before the measured seconds. */
const ENDED = 5_000;

/** Seconds before the quiet client is measured, in which the memory fills. */
const FILLING = 6;

/** What the loud client does: the connections on which it proves, and the agents that end in a second. */
export const GUARD_KINDS = {
  'proofs at a guard': { provers: 32, ended: 0 },
  'ended agents at a guard': { provers: 0, ended: ENDED },
};

const ROLES = { serve: serveGuard, prove: proveOften };
if (process.send !== undefined && process.argv[2] in ROLES) ROLES[process.argv[2]]();

/** @returns as `measureKinds` of abuse.mjs: `alone`, and a row for each kind */
export async function measureGuardKinds({ seconds, kinds }) {
  const rows = {};
  let alone;
  for (const kind of kinds) {
    const measured = await measureKind({ seconds, ...GUARD_KINDS[kind] });
    alone ??= measured.alone;
    rows[kind] = measured.row;
  }
  return { alone, rows };
}

/** Each kind has a new guard: what it remembers is filled once. */
async function measureKind({ seconds, provers, ended }) {
  const children = ['serve', 'prove', 'prove'].map((role) => fork(SELF, [role]));
  const [guard, quiet, loud] = children;
  try {
    const order = async (child, message) => {
      const answered = once(child, 'message');
      child.send(message);
      return (await answered)[0];
    };
    const { port } = await order(guard, { begin: true });
    pinToCore(guard.pid);
    const tokenFor = async (child) => order(guard, { jkt: (await order(child, { isForKey: true })).jkt });
    const [quietToken, loudToken] = [await tokenFor(quiet), await tokenFor(loud)];
    const calm = { port, ...quietToken, connections: 2, pause: 10, seconds };
    await order(quiet, { ...calm, seconds: 1 });
    const alone = await order(quiet, calm);
    const noise =
      provers > 0 &&
      order(loud, { port, ...loudToken, connections: provers, pause: 0, seconds: seconds + FILLING });
    if (ended > 0) guard.send({ ended });
    // From half of its proofs on a guard knows shares.
    await sleep(FILLING * 1_000);
    const cpu = cpuSeconds(guard.pid);
    const beside = await order(quiet, calm);
    const used = cpuSeconds(guard.pid) - cpu;
    const statuses = (await noise)?.statuses ?? { ended: (await order(guard, { stop: true })).count };
    const answered = Object.values(statuses).reduce((sum, count) => sum + count, 0);
    const of = ({ latencies }) => ({ p50: percentile(latencies, 0.5), p99: percentile(latencies, 0.99) });
    const [base, row] = [of(alone), of(beside)];
    const memory = residentMemory(guard.pid);
    return {
      alone: { ...base, memory },
      row: {
        ...row,
        ratio50: row.p50 / base.p50,
        ratio99: row.p99 / base.p99,
        cpu: (used * 1_000) / answered,
        quiet: beside.statuses,
        loud: statuses,
        memory,
      },
    };
  } finally {
    await Promise.all(children.map(end));
  }
}

async function serveGuard() {
  const issuer = await createTestIssuer();
  const revocations = followRevocations({ ...issuer.revocationsOptions, limit: LIMIT });
  const replays = createMemoryReplayStore({ limit: LIMIT });
  const options = { ...issuer.guardOptions, dpop: { required: true, replays }, onRefused: () => undefined };
  const guard = createGuard({ ...options, revocations });
  await revocations.ready();
  const admit = requireAgent(guard);
  const server = createServer((incoming, response) => admit(incoming, response, () => response.end()));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  process.on('disconnect', () => process.exit());
  let count = 0;
  let timer;
  const endSome = (most) => {
    for (let n = 0; n < most; n += 1) issuer.suspendAgent(crypto.randomUUID());
    count += most;
  };
  process.on('message', async (/** @type {Record<string, any>} */ { begin, jkt, ended, stop }) => {
    if (begin) process.send({ port: typeof address === 'object' ? address?.port : 0 });
    if (jkt) process.send({ token: await issuer.createToken({ cnf: { jkt } }) });
    if (ended) timer = setInterval(endSome, 100, ended / 10);
    if (stop) process.send({ count });
    if (stop) clearInterval(timer);
  });
}

async function proveOften() {
  const key = await (await createTestIssuer()).createKey();
  process.on('message', async (/** @type {Parameters<typeof load>[0] & { isForKey?: true }} */ order) =>
    process.send(order.isForKey ? { jkt: key.jkt } : await load(order, key)),
  );
}

async function load({ port, token, connections, pause, seconds }, key) {
  const latencies = [];
  const statuses = {};
  const until = performance.now() + seconds * 1_000;
  const one = async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    while (performance.now() < until) {
      const dpop = await key.createProof({ url: 'https://api.test/', token });
      const begun = performance.now();
      const status = await send(port, agent, { authorization: `DPoP ${token}`, dpop });
      latencies.push(performance.now() - begun);
      statuses[status] = (statuses[status] ?? 0) + 1;
      await sleep(pause);
    }
    agent.destroy();
  };
  await Promise.all(Array.from({ length: connections }, one));
  return { latencies, statuses };
}

function send(port, agent, headers) {
  return new Promise((resolve, reject) => {
    const outgoing = request({ port, host: '127.0.0.1', agent, headers }, (response) => {
      response.resume();
      response.on('end', () => resolve(response.statusCode));
    });
    outgoing.on('error', reject).end();
  });
}
