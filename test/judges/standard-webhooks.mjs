// Real deliveries of one local stack under load, over a rotation of their secret, and a rotation and a revocation of the
// tenant's issuer key, for the judges of Standard Webhooks and of the JWT.
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from 'jose';
import pg from 'pg';
import { openDeliveryStack } from '../../bench/delivery-stack.mjs';

const OVERLAP_SECONDS = 4;
const PAUSE = 25;
/** Milliseconds after which all processes know of a change of keys. */
const LEARNT = 4_000;
/** Milliseconds: every library refuses what is older than 5 minutes. */
const FRESH = 120_000;

let captured;

/**
 * @returns `lines` for programs (see `writeLines`), `asymmetric` (what v1a may be expected to be verified by, for each
 *   delivery) and `tokens` (what jose said of each JWT)
 */
export async function captureDeliveries(say) {
  if (captured === undefined || Date.now() - captured.at > FRESH) captured = await capture(say);
  return captured;
}

async function capture(say) {
  say('delivers over a rotation');
  const stack = await openDeliveryStack({ workers: 1 });
  const deliveries = [];
  const tokens = { passed: 0, failed: 0, warnings: [] };
  const keys = createRemoteJWKSet(new URL(`${stack.origin}/.well-known/jwks.json`));
  const readDeliveryKeys = async () =>
    (await (await fetch(`${stack.origin}/.well-known/webhook-jwks.json`)).json()).keys.map(({ x }) => x);
  const receiver = createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    response.writeHead(204).end();
    deliveries.push({ at: Date.now(), headers: request.headers, body: Buffer.concat(chunks) });
  });
  receiver.listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  const { port } = /** @type {import('node:net').AddressInfo} */ (receiver.address());
  const url = `http://127.0.0.1:${port}`;
  try {
    const granted = await fetch(`${stack.origin}/oauth/token`, {
      method: 'POST',
      headers: { authorization: stack.tenant.basic },
      body: new URLSearchParams({ grant_type: 'client_credentials' }),
    });
    const authorization = `Bearer ${(await granted.json()).access_token}`;
    const send = async (method, path, body) => {
      const headers = { authorization, 'content-type': 'application/json' };
      const answer = await fetch(stack.origin + path, {
        method,
        headers,
        ...(body && { body: JSON.stringify(body) }),
      });
      if (!answer.ok) throw new Error(`${path} answered ${answer.status}: ${await answer.text()}`);
      return answer.json();
    };
    const { id, secret: old } = await send('POST', '/api/v1/webhooks', {
      ...{ url: `${url}/hook`, event_types: ['judge.test.*'], sink: 'audit' },
      signatures: ['service-webhook-v1', 'v1', 'v1a', 'jwt'],
    });
    let ended = false;
    let published = 0;
    const load = (async () => {
      while (!ended) {
        const data = { n: published, text: 'Grüße, 你好 🙂 \n \\u0000' };
        await send('POST', '/api/v1/events', { type: 'judge.test.sent', data });
        published += 1;
        await sleep(PAUSE);
      }
    })();
    // What ends the load is thrown where it is awaited.
    load.catch(() => undefined);
    await sleep(2_000);
    const times = { asked: Date.now() };
    const rotated = await send('POST', `/api/v1/webhooks/${id}/secret/rotate`, {
      overlap_seconds: OVERLAP_SECONDS,
    });
    Object.assign(times, { answered: Date.now(), over: Date.parse(rotated.overlap_ends_at) });
    await sleep(OVERLAP_SECONDS * 1_000 + 3_000);
    say('rotates the issuer key, and revokes it');
    await publishLongAgo(stack.databaseUrl);
    await keys.reload();
    const rotation = { keys: await readDeliveryKeys(), asked: Date.now() };
    await send('POST', '/api/v1/tenant/issuer-keys/rotate', {});
    await sleep(LEARNT);
    Object.assign(rotation, { learnt: Date.now() });
    await keys.reload();
    const revocation = { keys: await readDeliveryKeys(), asked: Date.now() };
    const { data } = await send('GET', '/api/v1/tenant/issuer-keys');
    await send(
      'POST',
      `/api/v1/tenant/issuer-keys/${data.find(({ state }) => state === 'active').kid}/revoke`,
      {
        reason: 'judged',
      },
    );
    await sleep(LEARNT);
    Object.assign(revocation, { learnt: Date.now(), left: await readDeliveryKeys() });
    await sleep(2_000);
    ended = true;
    await load;
    for (let n = 0; n < 100 && deliveries.length < published; n += 1) await sleep(100);
    if (deliveries.length < published) throw new Error(`${published - deliveries.length} did not arrive`);
    const metadata = await fetch(`${stack.origin}/.well-known/oauth-authorization-server`);
    const { issuer } = await metadata.json();
    await judgeTokens(deliveries, { keys, tokens, issuer, audience: url });
    const lines = deliveries.flatMap((delivery) => casesOf(delivery, { old, next: rotated.secret, times }));
    const asymmetric = deliveries.flatMap((delivery) => keyCasesOf(delivery, { rotation, revocation }));
    return { at: Date.now(), lines, asymmetric, tokens };
  } finally {
    receiver.close();
    await stack.close();
  }
}

/** jose judges the token of each delivery: for this receiver, and for none else and no other use. */
async function judgeTokens(deliveries, { keys, tokens, issuer, audience }) {
  const check = async (token, options) => {
    const rules = { issuer, audience, typ: 'webhook+jwt', maxTokenAge: 300, requiredClaims: ['exp', 'jti'] };
    return (await jwtVerify(token, keys, { ...rules, ...options })).payload;
  };
  const refuses = (token, options) =>
    check(token, options).then(
      () => false,
      () => true,
    );
  const signers = new Set();
  for (const { headers, body } of deliveries) {
    const token = (headers.authorization ?? '').replace(/^Bearer /, '');
    const digest = Buffer.from(await crypto.subtle.digest('SHA-256', body)).toString('base64url');
    const results = [
      await check(token, {}).then(
        ({ jti, body_sha256 }) => jti === headers['x-service-delivery'] && body_sha256 === digest,
        () => false,
      ),
      await refuses(token, { typ: 'at+jwt' }),
      await refuses(token, { audience: 'https://other.example' }),
    ];
    for (const ok of results) tokens[ok ? 'passed' : 'failed'] += 1;
    signers.add(decodeProtectedHeader(token).kid);
  }
  // The first key, its successor by the rotation, and the successor's by the revocation.
  if (signers.size !== 3) throw new Error(`${signers.size} keys have signed tokens`);
}

/** As if the next issuer key had been published for long enough that it may sign (11 minutes). */
async function publishLongAgo(connectionString) {
  const client = new pg.Client({ connectionString });
  await client.connect();
  await client.query("UPDATE issuer_keys SET created_at = created_at - interval '11 minutes'");
  await client.end();
}

/** What a receiver may expect of a delivery, by when it came: of which secrets each, or any, verifies it. */
function casesOf({ at, headers, body }, { old, next, times }) {
  const signed = Number(headers['webhook-timestamp']) * 1_000;
  const both = { secrets: [old, next], mode: 'any' };
  const expected =
    at < times.asked
      ? { secrets: [old], mode: 'each' }
      : signed > times.answered && at < times.over
        ? { secrets: [old, next], mode: 'each' }
        : signed > times.over
          ? { secrets: [next], mode: 'each' }
          : both;
  const stranger = `whsec_${randomBytes(32).toString('base64')}`;
  const gone = signed > times.over ? [old, stranger] : [stranger];
  const changed = Buffer.from(body);
  changed[changed.length - 1] ^= 1;
  return [
    { ...expected, headers, body },
    { secrets: gone, mode: 'none', headers, body },
    { secrets: [old, next], mode: 'none', headers, body: changed },
  ];
}

/**
 * What a receiver may expect that fetched the keys before each change and not since: one of them verifies each delivery.
 * When all processes know of a rotation each of the two keys does; of a revocation, the revoked one does no more.
 */
function keyCasesOf({ at, headers, body }, { rotation, revocation }) {
  const known = at < revocation.asked ? rotation.keys : revocation.keys;
  const changed = Buffer.from(body);
  changed[changed.length - 1] ^= 1;
  const cases = [
    { secrets: known, mode: 'any', headers, body },
    { secrets: known, mode: 'none', headers, body: changed },
  ];
  if (at > rotation.learnt && at < revocation.asked)
    cases.push({ secrets: rotation.keys, mode: 'each', headers, body });
  if (at > revocation.learnt) {
    const revoked = revocation.keys.filter((key) => !revocation.left.includes(key));
    if (revoked.length !== 1) throw new Error(`${revoked.length} keys of deliveries were revoked`);
    cases.push({ secrets: revoked, mode: 'none', headers, body });
  }
  return cases;
}

/** One case a line: mode, secrets, id, timestamp, signatures, body in base64; with tabs between. */
export function writeLines(folder, lines) {
  const file = join(folder, 'deliveries.tsv');
  const text = lines.map(({ mode, secrets, headers, body }) =>
    [
      ...[mode, secrets.join(',')],
      ...['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) => headers[name]),
      body.toString('base64'),
    ].join('\t'),
  );
  writeFileSync(file, `${text.join('\n')}\n`);
  return file;
}

/** Runs a program that prints `<passed> <failed>` as its last line. */
export async function judgeByProgram(command, args, options) {
  const words = (await run(command, args, options)).trim().split('\n').at(-1)?.split(' ').map(Number) ?? [];
  const [passed = 0, failed = 0] = words;
  return { passed, failed, warnings: [] };
}

/** Runs a program to its end. @returns what it wrote to stdout */
export async function run(command, args, options) {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], ...options });
  let text = '';
  let errors = '';
  child.stdout.on('data', (chunk) => (text += chunk));
  child.stderr.on('data', (chunk) => (errors += chunk));
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${code}: ${errors.slice(-2_000)}`);
  return text;
}

/** Counts cases of a judge that runs in this process. @param verify throws when it refuses */
export function judgeHere(lines, verify) {
  const result = { passed: 0, failed: 0, warnings: [] };
  const accepts = (secret, one) => {
    try {
      verify(secret, one);
      return true;
    } catch {
      return false;
    }
  };
  for (const one of lines) {
    const count = one.secrets.filter((secret) => accepts(secret, one)).length;
    const wanted = { each: count === one.secrets.length, any: count > 0, none: count === 0 }[one.mode];
    result[wanted ? 'passed' : 'failed'] += 1;
  }
  return result;
}
