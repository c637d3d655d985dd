// Publishing at its limits: 500 events for ten subscriptions, partial failures, two processes, a full backlog, texts
// that no database takes.

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RequestContext } from '../../../src/platform/context.ts';
import { createRateLimiter } from '../../../src/platform/http/rate-limit.ts';
import { BacklogGauge } from '../../../src/webhooks/intake/backlog.service.ts';
import { createEventRoutes } from '../../../src/webhooks/intake/event.routes.ts';
import * as store from '../../../src/webhooks/intake/event.store.ts';
import { PublishingService } from '../../../src/webhooks/intake/publishing.service.ts';
import { countAlone } from '../../platform/http/counts.ts';
import { startTestServer, tokenFor } from '../../platform/http/test-server.ts';
import { createPatientDatabase, useTestDatabase } from '../../setup/database.ts';
import { countRows, createTenantContext, insertSubscription } from './fixture.ts';

let context: RequestContext;
const closings: (() => Promise<unknown>)[] = [];

const test = await useTestDatabase();
beforeEach(async () => {
  context = await createTenantContext(test.database);
});
afterEach(async () => {
  for (const close of closings.splice(0).toReversed()) await close();
});

/** What a process has of its own: connections, a gauge, a server. */
async function startProcess({ backlogLimit = 1_000_000, points = 0 } = {}) {
  const database = createPatientDatabase({
    url: test.url,
    pool: 4,
    applicationName: 'test',
    onError: () => undefined,
  });

  const statements: string[] = [];
  const publishing = new PublishingService({
    database: {
      query: (text, values, members) => {
        statements.push(text);
        return database.query(text, values, members);
      },
    },

    limit: createRateLimiter({ name: 'publish', points, counts: countAlone() }),
    notifier: { poke: () => undefined },
    backlog: new BacklogGauge({
      count: (tenantId, atMost) => store.countUnfinished(database, tenantId, atMost),
      limit: backlogLimit,
    }),
  });
  const server = await startTestServer(
    createEventRoutes({ publishing, feed: undefined as never, heldFeed: undefined as never }),
    {
      tenants: { bySlug: async () => context.tenant },
      database,
    },
  );
  closings.push(async () => {
    await server.drain(0);
    await database.close();
  });
  const authorization = `Bearer ${tokenFor('app', 'events:write')}`;
  return {
    statements,
    post: (body: unknown, headers: Record<string, string> = {}) =>
      server.send('POST', '/api/v1/events', body, { authorization, ...headers }),
  };
}

const event = (event_id: string, data: unknown = { n: 1 }, type = 'orders.order.placed') => ({
  type,
  data,
  event_id,
});

describe('a request', () => {
  it('of 500 events for ten subscriptions is one statement, and 5,000 deliveries', async () => {
    for (let n = 0; n < 10; n += 1)
      await insertSubscription(test.database, context, { filters: n % 2 === 0 ? ['orders.*'] : ['*'] });
    const process = await startProcess();
    const { status, body } = await process.post(
      Array.from({ length: 500 }, (_, n) => event(`e-${n}`, { n, text: 'x'.repeat(200) })),
    );
    expect(status).toBe(202);
    expect(body.results).toEqual(
      Array.from({ length: 500 }, (_, n) => ({ event_id: `e-${n}`, deliveries: 10 })),
    );
    expect(process.statements).toHaveLength(1);
    expect(await countRows(test.database, context.tenant.id)).toEqual({
      events: 500,
      deliveries: 5_000,
      outbox: 5_000,
      published: 500,
    });
  });

  it('reports each refused event in its place, with the path of what is wrong, and takes the others', async () => {
    const { post } = await startProcess();
    await post(event('taken'));
    const { status, body } = await post([
      event('first'),
      event('large', { text: 'x'.repeat(262_144) }),
      event('taken', { n: 2 }),
      event('typed', {}, 'Orders.placed'),
      event('ours', {}, 'auth.token.issued'),
      { ...event('when'), occurred_at: '1969-12-31T23:59:59Z' },
      { ...event('twice wrong'), data: 'text' },
      'no event',
      event('first'),
      event('first', { n: 2 }),
      event('unknown-types-are-fine', {}, 'a1.b_2.c.d.e'),
    ]);
    expect(status).toBe(202);
    const shown = body.results.map(
      (result: { event_id?: string; status: number; error: string; errors?: { path: string }[] }) =>
        result.event_id ?? [result.status, result.error, ...(result.errors ?? []).map(({ path }) => path)],
    );
    expect(shown).toEqual([
      'first',
      [413, 'payload_too_large', 'body.1.data'],
      [409, 'event_id_conflict', 'body.2.event_id'],
      [400, 'invalid_request', 'body.3.type'],
      [400, 'invalid_request', 'body.4.type'],
      [400, 'invalid_request', 'body.5.occurred_at'],
      [400, 'invalid_request', 'body.6.data', 'body.6.event_id'],
      [400, 'invalid_request', 'body.7'],
      'first',
      [409, 'event_id_conflict', 'body.9.event_id'],
      'unknown-types-are-fine',
    ]);
    for (const result of body.results)
      if (result.event_id === undefined) expect(result.error_description).toMatch(/\S/);
    const single = await post(event('large', { text: 'x'.repeat(262_144) }));
    expect([single.status, single.body.errors[0].path]).toEqual([413, 'body.data']);
  });

  it.each([
    ['NUL', '"\\u0000"'],
    ['a lone surrogate', '"\\ud83d"'],
    ['NUL in a name', '{"\\u0000": 1}'],
    ['a repeated name', '{"a": 1, "a": 2}'],
    ['a number that loses digits', '12345678901234567890'],
  ])('with %s in it is refused, and nothing of it was written', async (_title, value) => {
    const { post } = await startProcess();
    const text = `[{"type": "orders.order.placed", "data": {}}, {"type": "orders.order.placed", "data": {"text": ${value}}}]`;
    const { status, body } = await post(text, { 'content-type': 'application/json' });
    expect([status, body.error]).toEqual([400, 'invalid_request']);
    expect(body.errors[0].path).toMatch(/^body/);
    expect((await countRows(test.database, context.tenant.id))?.published).toBe(0);
  });
});

describe('two processes', () => {
  it('let one of many publications of an id in, and answer all of the same content alike', async () => {
    await insertSubscription(test.database, context, { filters: ['*'] });
    const processes = [await startProcess(), await startProcess()];
    const ids = Array.from({ length: 20 }, (_, n) => `race-${n}`);
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, round) => {
        const order = round % 3 === 0 ? ids.toReversed() : ids;
        return processes[round % 2]?.post(order.map((id) => event(id, { id })));
      }),
    );
    for (const answer of answers) {
      expect(answer?.status).toBe(202);
      expect(answer?.body.results.every(({ deliveries }: { deliveries: number }) => deliveries === 1)).toBe(
        true,
      );
    }
    expect(await countRows(test.database, context.tenant.id)).toEqual({
      events: 20,
      deliveries: 20,
      outbox: 20,
      published: 20,
    });
  });

  it('let one of two contents in', async () => {
    const processes = [await startProcess(), await startProcess()];
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, n) => processes[n % 2]?.post(event('one-id', { n }))),
    );
    const codes = answers.map((answer) => answer?.status).sort();
    expect(codes).toEqual([202, ...Array.from({ length: 9 }, () => 409)]);
  });

  it('see a full backlog of any publisher: 429 with Retry-After, and room again once deliveries have ended', async () => {
    await insertSubscription(test.database, context, { filters: ['*'] });
    const first = await startProcess({ backlogLimit: 5 });
    const second = await startProcess({ backlogLimit: 5 });
    expect((await first.post(Array.from({ length: 5 }, (_, n) => event(`b-${n}`)))).status).toBe(202);
    const refused = await first.post(event('b-5'));
    expect([refused.status, refused.body.error]).toEqual([429, 'rate_limited']);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    const untilStatus = async (status: number, prefix: string) => {
      for (let tries = 0; tries < 100; tries += 1) {
        const answer = await second.post(event(`${prefix}-${tries}`, {}, 'quiet.type'));
        if (answer.status === status) return answer;
        await new Promise((resolve) => setTimeout(resolve, 200));
      }
      throw new Error(`never ${status}`);
    };
    expect((await untilStatus(429, 'full')).headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
    await test.database.query("UPDATE deliveries SET status = 'delivered' WHERE tenant_id = $1", [
      context.tenant.id,
    ]);
    expect((await untilStatus(202, 'room')).status).toBe(202);
  });
});

describe('the limit of publishing', () => {
  const left = ({ headers }: { headers: Headers }) =>
    Number(/r=(\d+)/.exec(headers.get('ratelimit') ?? '')?.[1]);
  const subscribe = async (count: number) => {
    for (let n = 0; n < count; n += 1) await insertSubscription(test.database, context, { filters: ['*'] });
  };

  it('counts deliveries: what a first event costs is counted afterwards, and the next ones pay before', async () => {
    await subscribe(8);
    const { post } = await startProcess({ points: 40 });
    expect(left(await post(event('first')))).toBe(39);
    expect(left(await post(event('second')))).toBe(24);
    const many = await post(Array.from({ length: 4 }, (_, n) => event(`many-${n}`)));
    expect([many.status, many.body.error]).toEqual([429, 'rate_limited']);
    expect(Number(many.headers.get('retry-after'))).toBeGreaterThan(0);
    const under = await post({ type: 'orders.order.placed', data: {} }, { 'idempotency-key': 'k' });
    expect([under.status, left(under)]).toEqual([202, 16]);
    const array = await post([event('third'), event('fourth')]);
    expect([array.status, left(array)]).toEqual([202, 0]);
    expect((await post(event('fifth', {}, 'other.type'))).status).toBe(429);
  });

  it('gives back what an event has not cost: a known one, and one with less deliveries than the last', async () => {
    await subscribe(5);
    const { post } = await startProcess({ points: 1_000 });
    await post(event('one'));
    expect(left(await post(event('one')))).toBe(990);
    expect(left(await post(event('two')))).toBe(989);
    await test.database.query('UPDATE subscriptions SET deleted_at = now() WHERE tenant_id = $1', [
      context.tenant.id,
    ]);
    expect(left(await post(event('three')))).toBe(984);
    expect(left(await post(event('four')))).toBe(987);
  });

  it('admits one event that has more deliveries than a minute allows, and then none', async () => {
    await subscribe(6);
    const { post } = await startProcess({ points: 4 });
    expect([(await post(event('a'))).status, (await post(event('b'))).status]).toEqual([202, 429]);
    const again = await startProcess({ points: 4 });
    const refused = await again.post([event('c'), event('d', {}, 'a.b')]);
    expect(refused.status).toBe(202);
  });
});
