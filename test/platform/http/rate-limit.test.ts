// Request limits of the shell.
import { type IncomingMessage, ServerResponse } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { ServiceError } from '../../../src/platform/errors/service-error.ts';
import { createDocument } from '../../../src/platform/http/document.ts';
import {
  createRateLimiter,
  createRateLimits,
  createTenantLimit,
} from '../../../src/platform/http/rate-limit.ts';
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
  defineRoute({
    ...thing,
    path: '/proof',
    operationId: 'proveThing',
    proves: true,
    errors: ['invalid_client', 'use_dpop_nonce', 'rate_limited'],
    handler: ({ context, header }) => {
      const client = header('x-client');
      if (client !== undefined) context.countClient?.(client);
      const code = header('x-wrong') as 'invalid_client' | 'use_dpop_nonce' | undefined;
      if (code !== undefined) throw new ServiceError(code);
      return { status: 200, body: {} };
    },
  }),
];

let server: TestServer;
afterEach(() => server?.drain(0));
const start = async (rateLimit: { tenant: number; address: number }) => {
  server = await startTestServer(routes, {
    rateLimits: createRateLimits(rateLimit, countAlone()),
    config: { trustedProxies: ['127.0.0.1/32'] },
    pages: [({ path }) => (path === '/docs/guides/page' ? GUIDE : undefined)],
  });
};
const GUIDE = {
  document: createDocument('# A guide'),
  type: 'text/markdown',
  headers: {},
  operation: 'docs',
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
    const first = await get('/open', '203.0.113.1');
    expect(first.headers.get('ratelimit-policy')).toBe('"address";q=2;w=60, "tenant-anonymous";q=50;w=60');
    expect(first.headers.get('ratelimit')).toBe('"address";r=1;t=60, "tenant-anonymous";r=49;t=60');
    await get('/missing', '203.0.113.1');
    const { status, headers, body } = await get('/open', '203.0.113.1');
    expect(status).toBe(429);
    expect(body.error).toBe('rate_limited');
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(50);
    expect(headers.get('ratelimit')).toMatch(/^"address";r=0;t=\d+$/);
    // An agent in a page of another origin learns when to return.
    expect(headers.get('access-control-allow-origin')).toBe('*');
    expect(headers.get('access-control-expose-headers')).toContain('retry-after');
    expect((await get('/open', '203.0.113.2')).status).toBe(200);
  });

  it('count an IPv6 network as one client', async () => {
    await start({ tenant: 0, address: 1 });
    expect((await get('/open', '2001:db8::1')).status).toBe(200);
    expect((await get('/open', '2001:db8::2')).status).toBe(429);
    expect((await get('/open', '2001:db8:0:1::1')).status).toBe(200);
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

  it.each(['/openapi.json', '/llms.txt', '/robots.txt', '/docs/guides/page'])('count %s', async (path) => {
    await start({ tenant: 0, address: 3 });
    const read = async (address: string) =>
      (await server.fetch(path, { headers: { 'x-forwarded-for': address } })).status;
    const statuses = [];
    for (let index = 0; index < 4; index += 1) statuses.push(await read('203.0.113.1'));
    expect(statuses).toEqual([200, 200, 200, 429]);
    expect(await read('203.0.113.2')).toBe(200);
    expect((await get('/healthz', '203.0.113.1')).status).toBe(200);
  });

  it('tell of every limit, also when the second one refuses', async () => {
    await start({ tenant: 1, address: 5 });
    await get('/thing', '203.0.113.1');
    const { status, headers } = await get('/thing', '203.0.113.1');
    expect(status).toBe(429);
    expect(headers.get('ratelimit-policy')).toBe('"address";q=5;w=60, "tenant-client";q=1;w=60');
    expect(headers.get('ratelimit')).toMatch(/^"address";r=4;t=\d+, "tenant-client";r=0;t=\d+$/);
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

  it('of a client leave a fifth of the tenant to its other clients', async () => {
    await start({ tenant: 10, address: 0 });
    const other = { authorization: `Bearer ${tokenFor('other', 'agents:read')}` };
    const answered = async (headers: Record<string, string>) =>
      (await Promise.all(Array.from({ length: 12 }, () => get('/thing', '203.0.113.1', headers)))).filter(
        ({ status }) => status === 200,
      ).length;
    expect(await answered(AUTHORIZATION)).toBe(8);
    expect(await answered(other)).toBe(2);
  });

  it('of a client count its secrets that prove right too, and leave a fifth to the other clients', async () => {
    await start({ tenant: 10, address: 4 });
    const prove = (client: string) => get('/proof', '203.0.113.1', { 'x-client': client });
    const statuses = [];
    for (let n = 0; n < 12; n += 1) statuses.push((await prove('application')).status);
    expect(statuses).toEqual([...Array(8).fill(200), ...Array(4).fill(429)]);
    const { headers } = await prove('application');
    expect(headers.get('ratelimit-policy')).toContain('"tenant-client";q=8;w=60');
    for (let n = 0; n < 2; n += 1) expect((await prove('other')).status).toBe(200);
  });

  it('of an address let any number of valid tokens come together, and no more strangers than before', async () => {
    await start({ tenant: 0, address: 5 });
    const together = (headers: Record<string, string>) =>
      Promise.all(Array.from({ length: 60 }, () => get('/thing', '203.0.113.1', headers)));
    expect(new Set((await together(AUTHORIZATION)).map(({ status }) => status))).toEqual(new Set([200]));
    const strangers = (await together({})).map(({ status }) => status);
    expect(strangers.filter((status) => status === 401)).toHaveLength(5);
    expect(strangers.filter((status) => status === 429)).toHaveLength(55);
  });

  it('of an address count what proved right for nobody but its tenant', async () => {
    await start({ tenant: 0, address: 2 });
    const statuses = async (path: string, headers: Record<string, string>) => {
      const all = [];
      for (let n = 0; n < 4; n += 1) all.push((await get(path, '203.0.113.1', headers)).status);
      return all;
    };
    expect(await statuses('/thing', AUTHORIZATION)).toEqual([200, 200, 200, 200]);
    expect(await statuses('/proof', {})).toEqual([200, 200, 200, 200]);
    expect(await statuses('/proof', { 'x-wrong': 'invalid_client' })).toEqual([401, 401, 429, 429]);
  });

  it('of a tenant: strangers who prove wrong, or ask for a nonce, leave it to those who prove right', async () => {
    await start({ tenant: 10, address: 0 });
    expect(await flood('/proof', 20, { 'x-wrong': 'use_dpop_nonce' })).toEqual([400]);
    expect(await flood('/proof', 20, { 'x-wrong': 'invalid_client' })).toEqual([401, 429]);
    expect(await flood('/proof', 10)).toEqual([200]);
    expect((await get('/proof', '203.0.113.1', {})).status).toBe(429);
  });

  it('of a tenant: strangers who ask for much leave the share of addresses from which something proved right', async () => {
    await start({ tenant: 20, address: 0 });
    await get('/proof', '203.0.113.1', {});
    expect(await flood('/open', 20)).toEqual([200, 429]);
    expect((await get('/open', '203.0.113.2', {})).status).toBe(429);
    expect((await get('/open', '203.0.113.1', {})).status).toBe(200);
    expect((await get('/t/acme/open', '203.0.113.1', {})).status).toBe(200);
  });

  it('forget such an address after an hour', async () => {
    let time = 0;
    const limits = createRateLimits({ tenant: 2, address: 0 }, countAlone());
    const limitTenant = createTenantLimit(limits, () => time);
    const context = { tenant: { id: 't' } };
    const pass = async (route: (typeof routes)[number] | undefined) => {
      const ctx = {
        state: { address: '203.0.113.1', context },
        res: new ServerResponse({} as IncomingMessage),
      };
      await limitTenant(route ?? expect.fail())(ctx as never, async () => undefined);
      return String(ctx.res.getHeader('ratelimit-policy'));
    };
    const [, open, , proof] = routes;
    await pass(proof);
    time = 3_600_000 - 1;
    expect(await pass(open)).toContain('"tenant";');
    time = 3_600_000;
    expect(await pass(open)).toContain('"tenant-anonymous";');
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
