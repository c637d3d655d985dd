// Runs every program of docs/receiving.md as it stands there, in a folder that has the packed package and what the
// programs import.
import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { DeliveryLog } from '../../../packages/receiver/src/index.ts';
import { newSigningSecret } from '../../../src/platform/crypto/opaque-secret.node.ts';
import type { TenantSigner } from '../../../src/webhooks/signing/tenant-signer.node.ts';
import { readBlocks } from '../../documentation/pages.ts';
import { createTestDatabase } from '../../setup/database.ts';
import { takePort } from '../../setup/ports.ts';
import { attemptTo, startLocalSender } from '../../webhooks/deliveries/attempt.ts';
import { run } from '../packed-package.ts';
import { expectContract, expectLease } from './delivery-log-contract.ts';
import { SECRET } from './delivery-request.ts';
import { installPrograms, startProgram } from './guide-programs.ts';

/** What a runtime with fetch-style handlers does around the default export of a module. */
const SERVE_FETCH = `
import { createServer } from 'node:http';
import { Readable } from 'node:stream';
import handler from './fetch.mjs';
createServer(async (incoming, outgoing) => {
  const { method, headers } = incoming;
  const body = method === 'GET' ? null : Readable.toWeb(incoming);
  const answer = await handler.fetch(new Request('http://receiver.test/hooks', { method, headers, body, duplex: 'half' }));
  outgoing.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text());
}).listen(process.env.PORT);`;

const GENERATED = newSigningSecret();

const local = startLocalSender();
let consumer: Awaited<ReturnType<typeof installPrograms>>;
let programs: Map<string, string>;

beforeAll(async () => {
  const linked = ['koa', 'express', 'jose', 'standardwebhooks', '@stablelib/base64', 'fast-sha256'];
  consumer = await installPrograms('docs/receiving.md', linked);
  programs = consumer.programs;
  await writeFile(join(consumer.folder, 'serve-fetch.mjs'), SERVE_FETCH);
});
afterAll(async () => {
  await local.close();
  await consumer?.close();
});

it('has only programs that are run here', () => {
  expect([...programs.keys()].sort()).toEqual([
    ...[
      'asymmetric.mjs',
      'express.mjs',
      'fetch.mjs',
      'handler.mjs',
      'koa.mjs',
      'postgres-log.mjs',
      'redis-log.mjs',
      'standard.mjs',
      'token.mjs',
    ],
  ]);
});

const start = (file: string, variables: Record<string, string> = {}) =>
  startProgram(consumer.folder, file, { WEBHOOK_SECRET: GENERATED, ...variables });

describe.each(['koa.mjs', 'express.mjs', 'serve-fetch.mjs'])('the program around %s', (file) => {
  it('takes what our sender sends, once, and refuses what another sends', async () => {
    const program = await start(file);
    try {
      const genuine = attemptTo(program.url, { secrets: { current: SECRET } });
      const answers = [];
      for (const attempt of [genuine, genuine, { ...genuine, secrets: { current: 'another' } }]) {
        const { statusCode, responseExcerpt } = await local.sender.send(attempt);
        answers.push(`${statusCode} ${responseExcerpt}`);
      }
      expect(answers).toEqual([
        '200 {"status":"processed"}',
        '200 {"status":"ignored"}',
        '401 {"error":"invalid_signature"}',
      ]);
      expect(program.said()).toMatch(
        /^Refused delivery .*: 405 .*\nauth\.login\.success \{ text: .*\}\nRefused delivery .*: 401 .*\n$/,
      );
    } finally {
      await program.close();
    }
  });
});

it('has a receiver with a library of Standard Webhooks', async () => {
  const program = await start('standard.mjs');
  try {
    const answers = [];
    for (const current of [GENERATED, newSigningSecret()])
      answers.push((await local.sender.send(attemptTo(program.url, { secrets: { current } }))).statusCode);
    expect(answers).toEqual([204, 401]);
    expect(program.said()).toMatch(/^\S+ \{ text: .*\}\n$/);
  } finally {
    await program.close();
  }
});

it('has a package whose README has a program that takes deliveries', async () => {
  const [readme = ''] = readBlocks('packages/receiver/README.md', 'js');
  await writeFile(join(consumer.folder, 'readme.mjs'), readme.replace('9000', 'process.env.PORT'));
  const program = await start('readme.mjs');
  try {
    const { statusCode } = await local.sender.send(
      attemptTo(program.url, { secrets: { current: GENERATED } }),
    );
    expect(statusCode).toBe(200);
    expect(program.said()).toMatch(/\narrived: auth\.login\.success \{ text: .*\}\n$/);
  } finally {
    await program.close();
  }
});

describe('the program without a shared secret', () => {
  const delivery = generateKeyPairSync('ed25519');
  const issuing = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const sets: Record<string, unknown[]> = {
    '/.well-known/webhook-jwks.json': [delivery.publicKey.export({ format: 'jwk' })],
    '/.well-known/jwks.json': [{ ...issuing.publicKey.export({ format: 'jwk' }), alg: 'ES256' }],
  };
  let issuer: Server;
  let variables: { ISSUER: string };
  beforeAll(async () => {
    issuer = createServer(({ url = '' }, response) => response.end(JSON.stringify({ keys: sets[url] })));
    await new Promise<void>((resolve) => issuer.listen(0, '127.0.0.1', resolve));
    variables = { ISSUER: `http://127.0.0.1:${(issuer.address() as AddressInfo).port}` };
  });
  afterAll(() => issuer?.close());

  const signerOf = (keys: readonly KeyObject[], signing = issuing.privateKey): TenantSigner => ({
    issuer: variables.ISSUER,
    keys,
    sign: (claims, { typ }) => {
      const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url');
      const text = `${encode({ alg: 'ES256', typ })}.${encode(claims)}`;
      const key = { key: signing, dsaEncoding: 'ieee-p1363' } as const;
      return `${text}.${sign('sha256', Buffer.from(text), key).toString('base64url')}`;
    },
  });

  it.each([
    ['asymmetric.mjs', 'v1a'],
    ['token.mjs', 'jwt'],
  ])('%s takes a delivery with %s, and no other', async (file, signature) => {
    const port = await takePort();
    const program = await start(file, {
      ...variables,
      PORT: String(port),
      OWN_ORIGIN: `http://127.0.0.1:${port}`,
    });
    try {
      const other = generateKeyPairSync('ed25519').privateKey;
      const stranger = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
      const signers = [
        signerOf([delivery.privateKey]),
        signerOf([other, delivery.privateKey]),
        signerOf([other], stranger),
      ];
      const answers = [];
      for (const signer of signers) {
        const attempt = attemptTo(program.url, { signatures: [signature], signer });
        answers.push((await local.sender.send(attempt)).statusCode);
      }
      const usual = attemptTo(program.url, { secrets: { current: GENERATED } });
      answers.push((await local.sender.send(usual)).statusCode);
      expect(answers).toEqual([204, 204, 401, 401]);
      expect(program.said()).toMatch(/^(auth\.login\.success|undefined) \{ text: /);
    } finally {
      await program.close();
    }
  });
});

it('leaves the other routes of Express their body parser', async () => {
  const program = await start('express.mjs');
  try {
    const other = program.url.replace('/hooks', '/orders');
    const headers = { 'content-type': 'application/json' };
    const statuses = [];
    for (const body of ['{"a":1}', '{"a":']) {
      statuses.push((await fetch(other, { method: 'POST', headers, body })).status);
    }
    expect(statuses).toEqual([404, 400]);
  } finally {
    await program.close();
  }
});

it('has a handler that does what it says', async () => {
  const program = `
    import { handler } from './handler.mjs';
    const results = [];
    for (const [eventType, data] of [['webhook.test', {}], ['a.b', {}], ['a.b', { order: 7 }]]) {
      results.push(await handler({ eventType, eventId: 'e', payload: { data } }).catch(({ name }) => name));
    }
    console.log(JSON.stringify(results));`;
  const said = await run(process.execPath, ['--input-type=module', '--eval', program], consumer.folder);
  expect(said).toBe('e 7\n["ignored","RejectDelivery",null]\n');
});

/** Loads a program that imports nothing. */
const load = async (file: string) =>
  (await import(/* @vite-ignore */ pathToFileURL(join(consumer.folder, file)).href)) as Record<
    string,
    (connection: unknown) => DeliveryLog
  >;

describe('the delivery log', () => {
  it('in Postgres keeps to the contract, against a real server', async () => {
    const { database, drop } = await createTestDatabase();
    try {
      const table = /CREATE TABLE[\s\S]*?\n\);/.exec(programs.get('postgres-log.mjs') ?? '')?.[0] ?? '';
      await database.query(table);
      const { createPostgresDeliveryLog } = await load('postgres-log.mjs');
      const log = createPostgresDeliveryLog?.(database.pool);
      if (log === undefined) throw new Error('the guide has no log');
      await expectContract(log);
      await expectLease(log);
      const { rows } = await database.query(`SELECT * FROM webhook_deliveries WHERE event_id = 'e-1'`);
      expect(rows).toHaveLength(2);
      const forget = /DELETE FROM [^;]*;/.exec(programs.get('postgres-log.mjs') ?? '')?.[0] ?? '';
      expect((await database.query(forget)).rowCount).toBe(0);
      await database.query(`UPDATE webhook_deliveries SET kept_until = kept_until - interval '8 days'`);
      expect((await database.query(forget)).rowCount).toBeGreaterThan(0);
    } finally {
      await drop();
    }
  });

  it('in Redis keeps to the contract, as far as a server is imitated that sets, gets and expires', async () => {
    const redis = imitateRedis();
    const { createRedisDeliveryLog } = await load('redis-log.mjs');
    const log = createRedisDeliveryLog?.(redis);
    if (log === undefined) throw new Error('the guide has no log');
    await expectContract(log);
    const record = {
      delivery_id: 'd',
      event_type: 'a.b',
      received_at: new Date(),
      status: 'accepted',
    } as const;
    const delivery = { body: new Uint8Array(), replayableUntil: new Date() };
    expect(await log.accept(record, delivery)).toBe('accepted');
    redis.pass(301);
    expect(await log.accept(record, delivery)).toBe('accepted');
    await log.settle({ ...record, status: 'processed' });
    redis.pass(6 * 86_400);
    expect(await log.accept(record, delivery)).toBe('duplicate');
    redis.pass(6 * 86_400);
    expect(await log.accept(record, delivery)).toBe('duplicate');
    redis.pass(8 * 86_400);
    expect(await log.accept(record, delivery)).toBe('accepted');
  });
});

/**
 * The calls of node-redis that the guide uses, as Redis documents SET NX EX, GET, DEL and EXPIRE; `pass` lets seconds
 * go by.
 */
function imitateRedis() {
  const values = new Map<string, { value: string; ends: number }>();
  let now = 0;
  const read = (key: string) => {
    const entry = values.get(key);
    return entry !== undefined && entry.ends > now ? entry : undefined;
  };
  return {
    pass: (seconds: number) => {
      now += seconds;
    },
    set: async (key: string, value: string, { NX = false, EX }: { NX?: boolean; EX: number }) => {
      if (NX && read(key) !== undefined) return null;
      values.set(key, { value, ends: now + EX });
      return 'OK';
    },
    get: async (key: string) => read(key)?.value ?? null,
    del: async (key: string) => Number(values.delete(key)),
    expire: async (key: string, seconds: number) => {
      const entry = read(key);
      if (entry !== undefined) entry.ends = now + seconds;
      return entry !== undefined;
    },
  };
}
