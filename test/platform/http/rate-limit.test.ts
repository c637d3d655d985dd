// Request limits of the shell.
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createRateLimiter, createRateLimits } from '../../../src/platform/http/rate-limit.ts';
import { defineRoute } from '../../../src/platform/http/route.ts';
import { countAlone } from './counts.ts';
import { badToken, startTestServer, type TestServer, tokenFor } from './test-server.ts';

const thing = {
  method: 'GET',
  summary: 'x',
  tag: 'Test',
  scope: null,
  responses: { 200: { description: 'ok', schema: z.object({}) } },
  errors: [],
  handler: () => ({ status: 200, body: {} }),
} as const;
const routes = [
  defineRoute({ ...thing, path: '/thing', operationId: 'getThing', scope: 'agents:read' }),
  defineRoute({ ...thing, path: '/open', operationId: 'getOpenThing' }),
  defineRoute({ ...thing, path: '/.well-known/thing', operationId: 'getPublicThing' }),
];

let server: TestServer;
afterEach(() => server?.drain(0));
const start = async (rateLimit: { tenant: number; address: number }) => {
  server = await startTestServer(routes, {
    rateLimits: createRateLimits(rateLimit, countAlone()),
    config: { trustedProxies: ['127.0.0.1/32'] },
  });
};
const AUTHORIZATION = { authorization: `Bearer ${tokenFor('app', 'agents:read')}` };
const get = (path: string, address: string, headers: Record<string, string> = AUTHORIZATION) =>
  server.send('GET', path, undefined, { 'x-forwarded-for': address, ...headers });
/** The statuses of a request that is sent from many addresses, each once. */
async function flood(path: string, times: number, headers: Record<string, string> = {}) {
  const statuses = new Set<number>();
  for (let n = 0; n < times; n += 1) statuses.add((await get(path, `203.0.113.${100 + n}`, headers)).status);
  return [...statuses];
}

describe('request limits', () => {
  it('tell what remains, and refuse beyond it with 429', async () => {
    await start({ tenant: 100, address: 2 });
    const first = await get('/thing', '203.0.113.1');
    expect(first.headers.get('ratelimit-policy')).toBe('"address";q=2;w=60, "tenant";q=100;w=60');
    expect(first.headers.get('ratelimit')).toBe('"address";r=1;t=60, "tenant";r=99;t=60');
    await get('/missing', '203.0.113.1');
    const { status, headers, body } = await get('/thing', '203.0.113.1');
    expect(status).toBe(429);
    expect(body.error).toBe('rate_limited');
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(50);
    expect(headers.get('ratelimit')).toMatch(/^"address";r=0;t=\d+$/);
    expect((await get('/thing', '203.0.113.2')).status).toBe(200);
  });

  it('count an IPv6 network as one client', async () => {
    await start({ tenant: 0, address: 1 });
    expect((await get('/thing', '2001:db8::1')).status).toBe(200);
    expect((await get('/thing', '2001:db8::2')).status).toBe(429);
    expect((await get('/thing', '2001:db8:0:1::1')).status).toBe(200);
  });

  it('keep tenants apart', async () => {
    await start({ tenant: 1, address: 0 });
    expect((await get('/thing', '203.0.113.1')).status).toBe(200);
    expect((await get('/thing', '203.0.113.2')).status).toBe(429);
    expect((await get('/t/acme/thing', '203.0.113.1')).status).toBe(200);
  });

  it('are off at 0, and never touch the probes', async () => {
    await start({ tenant: 0, address: 0 });
    expect((await get('/thing', '203.0.113.1')).headers.has('ratelimit')).toBe(false);
    await server.drain(0);
    await start({ tenant: 1, address: 1 });
    for (let index = 0; index < 5; index += 1)
      expect((await get('/healthz', '203.0.113.1')).status).toBe(200);
  });

  it('tell of every limit, also when the second one refuses', async () => {
    await start({ tenant: 1, address: 5 });
    await get('/thing', '203.0.113.1');
    const { status, headers } = await get('/thing', '203.0.113.1');
    expect(status).toBe(429);
    expect(headers.get('ratelimit-policy')).toBe('"address";q=5;w=60, "tenant";q=1;w=60');
    expect(headers.get('ratelimit')).toMatch(/^"address";r=3;t=\d+, "tenant";r=0;t=\d+$/);
    expect(headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
  });

  it.each([
    ['a path that does not exist', '/missing', {}, [404, 429]],
    ['no token', '/thing', {}, [401, 429]],
    ['a wrong token', '/thing', { authorization: `Bearer ${badToken('error:invalid_token')}` }, [401, 429]],
    ['a route for everybody', '/open', {}, [200, 429]],
  ] as const)('of a tenant: strangers with %s leave it to the others', async (_, path, headers, statuses) => {
    await start({ tenant: 20, address: 0 });
    expect(await flood(path, 40, headers)).toEqual(statuses);
    expect((await get('/thing', '203.0.113.1')).status).toBe(200);
    expect((await get('/.well-known/thing', '203.0.113.1', {})).status).toBe(200);
    if (path !== '/open') expect((await get('/open', '203.0.113.1', {})).status).toBe(200);
    // Nothing is refused because of another tenant.
    expect((await get(`/t/acme${path}`, '203.0.113.1', headers)).status).toBe(statuses[0]);
  });

  it('of a tenant never refuse its public documents', async () => {
    await start({ tenant: 2, address: 0 });
    expect(await flood('/thing', 5, AUTHORIZATION)).toEqual([200, 429]);
    expect(await flood('/.well-known/thing', 40)).toEqual([200]);
    expect((await get('/.well-known/thing', '203.0.113.1')).headers.has('ratelimit')).toBe(false);
  });

  it('of a tenant tell anybody their own share', async () => {
    await start({ tenant: 20, address: 0 });
    const header = async (path: string) =>
      (await get(path, '203.0.113.1', {})).headers.get('ratelimit-policy');
    expect(await header('/open')).toBe('"tenant-anonymous";q=10;w=60');
    expect(await header('/missing')).toBe('"tenant-refused";q=2;w=60');
  });

  it('can count by cost: all of it or nothing', () => {
    const limiter = createRateLimiter({ name: 'publish', points: 10, counts: countAlone() });
    expect(limiter?.take('t', 7)).toMatchObject({ ratelimit: '"publish";r=3;t=60' });
    expect(() => limiter?.take('t', 7)).toThrow(expect.objectContaining({ code: 'rate_limited' }));
    expect(() => limiter?.take('u', 11)).toThrow('This request counts as 11');
    expect(limiter?.take('t', 3)).toMatchObject({ ratelimit: '"publish";r=0;t=60' });
  });
});
