// Request limits of the shell.
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createRateLimiter, createRateLimits } from '../../../src/platform/http/rate-limit.ts';
import { defineRoute } from '../../../src/platform/http/route.ts';
import { countAlone } from './counts.ts';
import { startTestServer, type TestServer } from './test-server.ts';

const routes = [
  defineRoute({
    method: 'GET',
    path: '/thing',
    operationId: 'getThing',
    summary: 'x',
    tag: 'Test',
    scope: null,
    responses: { 200: { description: 'ok', schema: z.object({}) } },
    errors: [],
    handler: () => ({ status: 200, body: {} }),
  }),
];

let server: TestServer;
afterEach(() => server?.drain(0));
const start = async (rateLimit: { tenant: number; address: number }) => {
  server = await startTestServer(routes, {
    rateLimits: createRateLimits(rateLimit, countAlone()),
    config: { trustedProxies: ['127.0.0.1/32'] },
  });
};
const get = (path: string, address: string) =>
  server.send('GET', path, undefined, { 'x-forwarded-for': address });

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

  it('can count by cost: all of it or nothing', () => {
    const limiter = createRateLimiter({ name: 'publish', points: 10, counts: countAlone() });
    expect(limiter?.take('t', 7)).toMatchObject({ ratelimit: '"publish";r=3;t=60' });
    expect(() => limiter?.take('t', 7)).toThrow(expect.objectContaining({ code: 'rate_limited' }));
    expect(() => limiter?.take('u', 11)).toThrow('This takes 11 at once');
    expect(limiter?.take('t', 3)).toMatchObject({ ratelimit: '"publish";r=0;t=60' });
  });
});
