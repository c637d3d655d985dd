// Liveness, readiness and the description, at the addresses that belong to no tenant.
import { afterEach, describe, expect, it, vi } from 'vitest';
import { pendingMigrations } from '../../../src/platform/database/migrate.ts';
import { createHealth } from '../../../src/platform/http/health.ts';
import { createTestDatabase } from '../../setup/database.ts';
import { PATIENCE } from '../../setup/patience.ts';
import { startTestServer, type TestServer } from './test-server.ts';

type Parts = Parameters<typeof createHealth>[0];
const fine: Parts = {
  ping: async () => undefined,
  pendingMigrations: async () => [],
  probeTemporal: async () => true,
};
const never = () => new Promise<never>(() => undefined);

let server: TestServer;
afterEach(() => server.drain(0));
const ready = async (parts: Partial<Parts>) => {
  const health = createHealth({ ...fine, ...parts });
  server = await startTestServer([], { health });
  return { health, answer: await server.send('GET', '/readyz') };
};

describe('readiness', () => {
  it('costs the database one question, however many ask at the same time', async () => {
    let asked = 0;
    let answer: () => void = () => undefined;
    const ping = () => {
      asked += 1;
      return new Promise<void>((resolve) => {
        answer = resolve;
      });
    };
    const health = createHealth({ ...fine, ping });
    server = await startTestServer([], { health });
    const many = Array.from({ length: 50 }, () => health.ready());
    await vi.waitUntil(() => asked > 0, PATIENCE);
    answer();
    expect((await Promise.all(many)).every(({ ready }) => ready)).toBe(true);
    expect(asked).toBe(1);
    const another = health.ready();
    answer();
    expect(await another).toMatchObject({ database: 'ok' });
    expect(asked).toBe(2);
  });

  it('is 200 with the state of each part', async () => {
    const { answer } = await ready({});
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({ status: 'ready', database: 'ok', temporal: 'ok' });
  });

  it.each([
    ['does not answer', never],
    ['refuses', () => Promise.reject(new Error('down'))],
    ['says no', async () => false],
  ])('is degraded, and still 200, when Temporal %s', async (_what, probeTemporal) => {
    const { answer } = await ready({ probeTemporal });
    expect(answer.status).toBe(200);
    expect(answer.body.temporal).toBe('degraded');
  });

  it.each([
    ['does not answer', { ping: never }, 'unavailable'],
    ['refuses', { ping: () => Promise.reject(new Error('10.0.0.5')) }, 'unavailable'],
    ['lacks a migration', { pendingMigrations: async () => ['0009'] }, 'migrations_pending'],
  ])('is 503 as a problem when the database %s', async (_what, parts, state) => {
    const { answer } = await ready(parts);
    expect(answer.status).toBe(503);
    expect(answer.headers.get('retry-after')).toBe('1');
    expect(answer.body).toMatchObject({
      status: 503,
      error: 'temporarily_unavailable',
      database: state,
      temporal: 'ok',
    });
    expect(answer.text).not.toContain('10.0.0.5');
  });

  it('ends when draining begins, while liveness stays', async () => {
    const { health } = await ready({});
    health.beginDrain();
    expect((await server.send('GET', '/readyz')).status).toBe(503);
    expect((await server.send('GET', '/healthz')).body).toEqual({ status: 'ok' });
  });

  it('asks Temporal at most once in five seconds', async () => {
    let asked = 0;
    await ready({ probeTemporal: async () => ++asked > 0 });
    await server.send('GET', '/readyz');
    expect(asked).toBe(1);
  });

  it('holds against a real, migrated database, also when that goes away', async () => {
    const test = await createTestDatabase();
    const { answer } = await ready({
      ping: () => test.database.query('SELECT 1'),
      pendingMigrations: () => pendingMigrations(test.database),
    });
    expect(answer.status).toBe(200);
    await test.drop();
    expect((await server.send('GET', '/readyz')).body.database).toBe('unavailable');
  });
});

it('llms.txt has the form of llmstxt.org, and its links to this address lead somewhere', async () => {
  server = await startTestServer([]);
  const answer = await server.fetch('/llms.txt');
  expect(answer.headers.get('content-type')).toBe('text/plain; charset=utf-8');
  const lines = (await answer.text()).split('\n').filter((line) => line !== '');
  expect(lines[0]).toMatch(/^# \S/);
  expect(lines[1]).toMatch(/^> \S/);
  const sections = lines.slice(lines.findIndex((line) => line.startsWith('## ')));
  for (const line of sections) expect(line).toMatch(/^(## \S.*|- \[[^\]]+\]\(https?:\/\/[^)\s]+\): \S.*)$/);
  const here = sections.flatMap(
    (line) => line.match(/https?:\/\/[^)]+(\/(?:healthz|openapi\.json))\)/)?.[1] ?? [],
  );
  expect(here).toEqual(['/openapi.json', '/healthz']);
  for (const path of here) expect((await server.send('GET', path)).status, path).toBe(200);
});

it('crawlers may read what is written for readers, and a browser that asks for an icon gets no error', async () => {
  server = await startTestServer([]);
  const robots = await server.fetch('/robots.txt');
  expect([robots.status, robots.headers.get('content-type')]).toEqual([200, 'text/plain; charset=utf-8']);
  expect(await robots.text()).toMatch(/^User-agent: \*\nAllow: \/docs\n[\s\S]*\nDisallow: \/\n$/);
  const icon = await server.fetch('/favicon.ico');
  expect([icon.status, icon.headers.get('cache-control')]).toEqual([204, 'public, max-age=86400']);
});

it('openapi.json can be kept and asked for again by any page', async () => {
  server = await startTestServer([]);
  const first = await server.send('GET', '/openapi.json');
  expect(first.body.openapi).toBe('3.1.1');
  expect(first.headers.get('access-control-allow-origin')).toBe('*');
  const again = await server.fetch('/openapi.json', {
    headers: { 'if-none-match': first.headers.get('etag') ?? '' },
  });
  expect(again.status).toBe(304);
});
