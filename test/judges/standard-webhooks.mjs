// Real deliveries of one local stack, over a rotation of their secret under load, for the judges of Standard Webhooks
// and of the JWT.
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import { openDeliveryStack } from '../../bench/delivery-stack.mjs';

const OVERLAP_SECONDS = 4;
const PAUSE = 25;
/** Milliseconds: every library refuses what is older than 5 minutes. */
const FRESH = 120_000;

let captured;

/**
 * @returns `lines` for programs (see `writeLines`), `keys` (the JWK set for v1a) and `tokens` (what jose said of each
 *   JWT as it came)
 */
export async function captureDeliveries(say) {
  if (captured === undefined || Date.now() - captured.at > FRESH) captured = await capture(say);
  return captured;
}

async function capture(say) {
  say('delivers over a rotation');
  const stack = await openDeliveryStack({ mode: 'retries', workers: 1 });
  const deliveries = [];
  const tokens = { passed: 0, failed: 0, warnings: [] };
  const keys = createRemoteJWKSet(new URL(`${stack.origin}/.well-known/jwks.json`));
  const receiver = createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    response.writeHead(204).end();
    deliveries.push({ at: Date.now(), headers: request.headers, body: Buffer.concat(chunks) });
  });
  receiver.listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  const url = `http://127.0.0.1:${receiver.address().port}`;
  try {
    const send = async (method, path, body) => {
      const headers = { authorization: stack.tenant.authorization, 'content-type': 'application/json' };
      const answer = await fetch(stack.origin + path, { method, headers, body: JSON.stringify(body) });
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
    ended = true;
    await load;
    for (let n = 0; n < 100 && deliveries.length < published; n += 1) await sleep(100);
    if (deliveries.length < published) throw new Error(`${published - deliveries.length} did not arrive`);
    const metadata = await fetch(`${stack.origin}/.well-known/oauth-authorization-server`);
    const { issuer } = await metadata.json();
    await judgeTokens(deliveries, { keys, tokens, issuer, audience: url });
    const set = await (await fetch(`${stack.origin}/.well-known/webhook-jwks.json`)).json();
    const lines = deliveries.flatMap((delivery) => casesOf(delivery, { old, next: rotated.secret, times }));
    return { at: Date.now(), lines, keys: set.keys, tokens, deliveries };
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
  }
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
