// What every answer of the shell has in common: ids, headers, problems, addresses.
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { Writable } from 'node:stream';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import pino from 'pino';
import { afterAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { z } from 'zod';
import { ServiceError } from '../../../src/platform/errors/service-error.ts';
import { EXPOSED } from '../../../src/platform/http/cors.ts';
import { createRateLimits } from '../../../src/platform/http/rate-limit.ts';
import { createRequestTurns } from '../../../src/platform/http/request-turns.ts';
import { defineRoute } from '../../../src/platform/http/route.ts';
import { countAlone } from './counts.ts';
import { ERROR_TYPE_BASE, startTestServer, tenantNamed } from './test-server.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

const get = (path: string, operationId: string, handler: () => object, more: object = {}) =>
  defineRoute({
    method: 'GET',
    path,
    operationId,
    summary: operationId,
    tag: 'Test',
    scope: null,
    responses: { 200: { description: 'ok' }, 204: { description: 'nothing' } },
    errors: ['policy_denied'],
    handler: () => ({ status: 200, ...handler() }),
    ...more,
  });

const anything = { responses: { 200: { description: 'ok', schema: z.any() } } };
const routes = [
  get('/thing', 'getThing', () => ({ body: { ok: true } }), anything),
  get('/nothing', 'getNothing', () => ({ status: 204 })),
  get('/empty', 'getEmpty', () => ({})),
  get('/tenant', 'getTenant', () => ({ body: 'x' }), {
    ...anything,
    handler: ({ context }: { context: { tenant: { slug: string }; address: string } }) => ({
      status: 200,
      body: { slug: context.tenant.slug, address: context.address },
    }),
  }),
  get('/crash', 'getCrash', () => {
    throw new Error('password=hunter2');
  }),
  get('/down', 'getDown', () => {
    throw Object.assign(new Error('connect ECONNREFUSED 10.0.0.5:5432'), { code: 'ECONNREFUSED' });
  }),
  get('/denied', 'getDenied', () => {
    throw new ServiceError('policy_denied', {
      detail: 'The agent is suspended.',
      cause: new Error('inside'),
    });
  }),
  get('/later', 'getLater', () => {
    throw new ServiceError('temporarily_unavailable');
  }),
  get('/undeclared', 'getUndeclared', () => {
    throw new ServiceError('key_exists');
  }),
  get('/oauth/token', 'getToken', () => {
    throw new ServiceError('policy_denied');
  }),
  get(
    '/.well-known/jwks.json',
    'getKeys',
    () => ({ body: { keys: [] }, headers: { etag: '"1"' } }),
    anything,
  ),
  defineRoute({
    method: 'DELETE',
    path: '/thing',
    operationId: 'deleteThing',
    summary: 'Delete',
    tag: 'Test',
    scope: 'agents:write',
    responses: { 204: { description: 'gone' } },
    errors: [],
    handler: () => ({ status: 204 }),
  }),
];

const lines: string[] = [];
const logger = pino(
  { level: 'debug' },
  new Writable({
    write(chunk, _encoding, done) {
      lines.push(String(chunk));
      done();
    },
  }),
);

const server = await startTestServer(routes, { logger, config: { trustedProxies: ['127.0.0.1/32'] } });
afterAll(() => server.drain(0));

it.each([
  ['/t/acme/thing', [undefined, 'acme']],
  ['/t/acme/missing', [undefined, 'acme']],
  ['/.well-known/jwks.json', [undefined, 'demo']],
  ['/t/nobody/thing', [undefined, undefined]],
  ['/openapi.json', [undefined, undefined]],
  ['/healthz', [undefined]],
])('%s begins when its turn comes, but for a probe', async (path, expected) => {
  const asked: (string | undefined)[] = [];
  const turns = createRequestTurns({ connections: 2 });
  vi.spyOn(turns, 'start').mockImplementation((id) => {
    asked.push(id);
    return new Promise(setImmediate);
  });
  const paced = await startTestServer(routes, { turns });
  await paced.fetch('/llms.txt');
  expect((await paced.fetch(path)).status).toBe((await server.fetch(path)).status);
  expect(asked).toEqual(expected.map((slug) => slug && tenantNamed(slug).id));
  await paced.drain(0);
});

describe('request ids', () => {
  it.each(['/thing', '/nothing', '/empty', '/crash', '/missing', '/healthz', '/t/nobody/thing', '//', '/%'])(
    '%s carries a new UUID when none was sent',
    async (path) => {
      const { headers } = await server.fetch(path);
      expect(headers.get('x-request-id')).toMatch(UUID);
    },
  );

  it('keeps 1 to 128 visible characters and repeats them in the body', async () => {
    const id = `${'!~'.repeat(63)}ab`;
    const { headers, body } = await server.send('GET', '/missing', undefined, { 'x-request-id': id });
    expect(headers.get('x-request-id')).toBe(id);
    expect(body.request_id).toBe(id);
  });

  it.each(['a b', 'ä', 'x'.repeat(129), ''])('replaces %j', async (id) => {
    const { headers } = await server.send('GET', '/thing', undefined, { 'x-request-id': id });
    expect(headers.get('x-request-id')).toMatch(UUID);
  });
});

describe('problems', () => {
  it('have all six fields and the request id', async () => {
    const { status, headers, body } = await server.send('GET', '/denied');
    expect(status).toBe(403);
    expect(headers.get('content-type')).toBe('application/problem+json');
    expect(body).toEqual({
      type: `${ERROR_TYPE_BASE}/policy-denied`,
      title: 'Policy Denied',
      status: 403,
      detail: 'The agent is suspended.',
      error: 'policy_denied',
      error_description: 'The agent is suspended.',
      request_id: headers.get('x-request-id'),
    });
  });

  it('go out as JSON to who asks for it, and below /oauth/ without a preference', async () => {
    const asked = await server.send('GET', '/denied', undefined, { accept: 'application/json' });
    const oauth = await server.send('GET', '/oauth/token');
    const below = await server.send('GET', '/t/acme/oauth/token');
    expect(asked.headers.get('content-type')).toBe('application/json');
    expect(oauth.headers.get('content-type')).toBe('application/json');
    expect(below.headers.get('content-type')).toBe('application/json');
    expect(oauth.body.error).toBe('policy_denied');
  });

  it.each([
    [
      'is refused for too many requests',
      429,
      {
        rateLimits: createRateLimits({ tenant: 0, address: 1 }, countAlone()),
      },
    ],
    [
      'cannot be looked up',
      503,
      {
        tenants: { bySlug: () => Promise.reject(Object.assign(new Error('gone'), { code: 'ECONNREFUSED' })) },
      },
    ],
    ['is unknown', 404, { tenants: { bySlug: async () => undefined } }],
  ])("go out as JSON below a tenant's /oauth/ when the tenant %s", async (_, status, dependencies) => {
    const other = await startTestServer(routes, dependencies);
    await other.send('GET', '/t/acme/oauth/token');
    const answer = await other.send('GET', '/t/acme/oauth/token');
    expect([answer.status, answer.headers.get('content-type')]).toEqual([status, 'application/json']);
    expect(answer.body.request_id).toBe(answer.headers.get('x-request-id'));
    await other.drain(0);
  });

  it('tell nothing of the inside, which only the log has', async () => {
    lines.length = 0;
    const { status, text, body } = await server.send('GET', '/crash');
    expect(status).toBe(500);
    expect(body.error).toBe('server_error');
    expect(text).not.toMatch(/hunter2|\bat \b|\.ts/);
    expect(lines.join('')).toMatch(/hunter2/);
    expect((await server.send('GET', '/denied')).text).not.toContain('inside');
  });

  it('say 503 with Retry-After when the database is down', async () => {
    const { status, headers, body, text } = await server.send('GET', '/down');
    expect(status).toBe(503);
    expect(headers.get('retry-after')).toBe('1');
    expect(body.error).toBe('temporarily_unavailable');
    expect(text).not.toContain('10.0.0.5');
  });

  it('say when to come back even if the thrower did not', async () => {
    const { status, headers } = await server.send('GET', '/later');
    expect(status).toBe(503);
    expect(headers.get('retry-after')).toBe('1');
  });

  it('are 500 in tests when the route does not declare the code', async () => {
    expect((await server.send('GET', '/undeclared')).status).toBe(500);
  });
});

describe('routing', () => {
  it.each([
    '/missing',
    '/Thing',
    '/thing/',
    '//thing',
    '/t/nobody/thing',
    '/t/demo/thing',
    '/t/acme/healthz',
    '/auth/check-sso',
  ])('%s is 404 for every client', async (path) => {
    const { status, body } = await server.send('GET', path);
    expect(status).toBe(404);
    expect(body.error).toBe('not_found');
  });

  it('answers 405 with Allow before it asks for a token', async () => {
    const { status, headers, body } = await server.send('PUT', '/thing');
    expect(status).toBe(405);
    expect(body.error).toBe('method_not_allowed');
    expect(new Set(headers.get('allow')?.split(', '))).toEqual(new Set(['GET', 'HEAD', 'DELETE', 'OPTIONS']));
    const system = await server.send('POST', '/healthz');
    expect(system.status).toBe(405);
    expect(system.headers.get('allow')).toBe('GET, HEAD');
  });

  it('answers HEAD like GET without a body', async () => {
    const response = await server.fetch('/thing', { method: 'HEAD' });
    expect(response.status).toBe(200);
    expect(response.headers.get('content-length')).toBe('11');
    expect(await response.text()).toBe('');
  });

  it('answers OPTIONS with what is allowed', async () => {
    const response = await server.fetch('/thing', { method: 'OPTIONS' });
    expect(response.status).toBe(204);
    expect(response.headers.get('allow')).toContain('DELETE');
    expect(response.headers.get('access-control-allow-origin')).toBeNull();
  });

  it('sends answers without a body as such', async () => {
    const empty = await server.fetch('/empty');
    expect(empty.status).toBe(200);
    expect(empty.headers.get('content-length')).toBe('0');
    expect((await server.fetch('/nothing')).status).toBe(204);
  });
});

describe('tenants', () => {
  it('are told by the address', async () => {
    expect((await server.send('GET', '/tenant')).body.slug).toBe('demo');
    expect((await server.send('GET', '/t/acme/tenant')).body.slug).toBe('acme');
  });

  it('get the address that a trusted proxy reports', async () => {
    const { body } = await server.send('GET', '/tenant', undefined, { 'x-forwarded-for': '203.0.113.9' });
    expect(body.address).toBe('203.0.113.9');
  });
});

describe('headers', () => {
  it('forbid storing and sniffing', async () => {
    const { headers } = await server.send('GET', '/thing');
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('content-type')).toBe('application/json');
  });

  it('let pages of any origin read public documents, and nothing else', async () => {
    const keys = await server.fetch('/.well-known/jwks.json');
    expect(keys.headers.get('access-control-allow-origin')).toBe('*');
    expect(keys.headers.get('access-control-expose-headers')?.split(', ')).toEqual(EXPOSED);
    const preflight = await server.fetch('/.well-known/jwks.json', { method: 'OPTIONS' });
    expect(preflight.headers.get('access-control-allow-methods')).toContain('GET');
    expect((await server.fetch('/thing')).headers.get('access-control-allow-origin')).toBeNull();
  });

  it('answer 304 to who has the version already', async () => {
    const response = await server.fetch('/.well-known/jwks.json', { headers: { 'if-none-match': 'W/"1"' } });
    expect(response.status).toBe(304);
    expect(response.headers.get('x-request-id')).toMatch(UUID);
  });

  it('name the version of an answer to who asks for one, and 304 while it is the same', async () => {
    const ask = (tag: string) => server.fetch('/thing', { headers: { 'if-none-match': tag } });
    const first = await ask('"none"');
    expect(first.status).toBe(200);
    expect((await server.fetch('/thing')).headers.get('etag')).toBeNull();
    const again = await ask(first.headers.get('etag') ?? '');
    expect([again.status, await again.text()]).toEqual([304, '']);
  });
});

describe('/openapi.json', () => {
  it('is made when it is first asked for, and once', async () => {
    let read = 0;
    const counted = Object.defineProperty(
      get('/counted', 'getCounted', () => ({})),
      'summary',
      {
        get: () => `read ${++read} times`,
      },
    );
    const other = await startTestServer([counted]);
    onTestFinished(() => other.drain());
    expect(read).toBe(0);
    const made = await Promise.all([1, 2].map(async () => (await other.fetch('/openapi.json')).text()));
    expect(made[1]).toBe(made[0]);
    expect(read).toBe(1);
    expect(await (await other.fetch('/openapi.json')).text()).toBe(made[0]);
    expect(read).toBe(1);
  });

  const ask = async (headers: Record<string, string>, method = 'GET') => {
    // fetch would decode the answer.
    const asked = request(`${server.origin}/openapi.json`, { headers, method }).end();
    const [response] = (await once(asked, 'response')) as [IncomingMessage];
    const bytes = Buffer.concat(await response.toArray());
    return { headers: response.headers, status: response.statusCode, bytes };
  };

  it.each([
    ['br', 'gzip;q=0.5, br', brotliDecompressSync],
    ['gzip', 'gzip', gunzipSync],
    [undefined, 'identity', (bytes: Buffer) => bytes],
    [undefined, 'br;q=0, gzip;q=0', (bytes: Buffer) => bytes],
  ])('goes out as %s for %s, with a tag of its own', async (coding, accepted, decode) => {
    const plain = await ask({});
    const { headers, bytes } = await ask({ 'accept-encoding': accepted });
    expect(headers['content-encoding']).toBe(coding);
    expect(headers.vary).toBe('accept-encoding');
    expect(headers['cache-control']).toBe('public, max-age=300');
    expect(headers['content-length']).toBe(String(bytes.length));
    expect(decode(bytes).equals(plain.bytes)).toBe(true);
    expect(headers.etag === plain.headers.etag).toBe(coding === undefined);
    if (coding !== undefined) expect(bytes.length).toBeLessThan(plain.bytes.length / 2);
    const tag = headers.etag ?? '';
    const again = await ask({ 'accept-encoding': accepted, 'if-none-match': tag });
    expect(again.status).toBe(304);
    expect(again.headers).toMatchObject({
      etag: tag,
      vary: 'accept-encoding',
      'cache-control': 'public, max-age=300',
    });
    expect(again.bytes).toHaveLength(0);
    const head = await ask({ 'accept-encoding': accepted }, 'HEAD');
    expect(head.headers['content-length']).toBe(headers['content-length']);
    expect(head.bytes).toHaveLength(0);
  });
});

it('logs one line for each request, without its query', async () => {
  lines.length = 0;
  await server.send('GET', '/thing?secret=1', undefined, {
    authorization: 'Bearer abc',
    'x-request-id': 'me',
  });
  expect(lines).toHaveLength(1);
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({
    request_id: 'me',
    tenant: 'demo',
    method: 'GET',
    route: 'getThing',
    status: 200,
    ms: expect.any(Number),
  });
  expect(lines[0]).not.toMatch(/secret|abc/);
});
