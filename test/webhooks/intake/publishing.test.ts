// Publishing: one statement, once for each event id, a tenant's own only.

import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { JsonObject } from '../../../src/events/event.ts';
import type { RequestContext } from '../../../src/platform/context.ts';
import { ServiceError } from '../../../src/platform/errors/service-error.ts';
import { createRateLimiter } from '../../../src/platform/http/rate-limit.ts';
import { BacklogGauge } from '../../../src/webhooks/intake/backlog.service.ts';
import { createEventRoutes } from '../../../src/webhooks/intake/event.routes.ts';
import { readPublication } from '../../../src/webhooks/intake/event.schemas.ts';
import * as store from '../../../src/webhooks/intake/event.store.ts';
import { type Published, PublishingService } from '../../../src/webhooks/intake/publishing.service.ts';
import { countAlone } from '../../platform/http/counts.ts';
import { startTestServer, tokenFor } from '../../platform/http/test-server.ts';
import { useTestDatabase } from '../../setup/database.ts';
import { countRows, createTenantContext, insertSubscription } from './fixture.ts';

let context: RequestContext;
let statements = 0;

const poke = vi.fn();
const backlog = new BacklogGauge({ count: async () => 0, limit: 1_000_000 });

const publishing = new PublishingService({
  database: {
    query: (text, values, members) => {
      statements += 1;
      return test.database.query(text, values, members);
    },
  },

  notifier: { poke },
  backlog,
});

const test = await useTestDatabase();
beforeEach(async () => {
  context = await createTenantContext(test.database);
  statements = 0;
  poke.mockClear();
});

const item = (event_id?: string, data: JsonObject = { n: 1 }, type = 'org.created') =>
  readPublication({ type, data, ...(event_id === undefined ? {} : { event_id }) }, 'body');
const publish = (items: ReturnType<typeof item>[], given = context) => publishing.publish(given, items);
const codes = (results: (Published | ServiceError)[]) =>
  results.map((result) => (result instanceof ServiceError ? result.code : result.deliveries));

describe('the limit of what a tenant publishes', () => {
  it('counts events, not requests, refuses beyond it, and writes nothing then', async () => {
    await insertSubscription(test.database, context, { filters: ['*'] });
    const other = await createTenantContext(test.database);
    const limited = new PublishingService({
      database: test.database,
      notifier: { poke },
      backlog,
      limit: createRateLimiter({ name: 'publish', points: 3, counts: countAlone() }),
    });
    const server = await startTestServer(
      createEventRoutes({ publishing: limited, feed: undefined as never, heldFeed: undefined as never }),
      {
        tenants: { bySlug: async (slug) => (slug === 'demo' ? context.tenant : other.tenant) },
        database: test.database,
      },
    );
    onTestFinished(async () => server.drain(0));
    const send = (names: string[], path = '', key: Record<string, string> = {}) => {
      const body = names.map((name) => ({ type: 'org.created', data: { name } }));
      const authorization = `Bearer ${tokenFor('app', 'events:write')}`;
      return server.send('POST', `${path}/api/v1/events`, body, { authorization, ...key });
    };
    const first = await send(['a', 'b'], '', { 'idempotency-key': 'k' });
    expect([first.status, first.headers.get('ratelimit')]).toEqual([202, '"publish";r=1;t=60']);
    expect(first.headers.get('ratelimit-policy')).toBe('"publish";q=3;w=60');
    const second = await send(['c', 'd']);
    expect([second.status, second.body.error]).toEqual([429, 'rate_limited']);
    expect(second.headers.get('ratelimit')).toMatch(/^"publish";r=1;t=\d+$/);
    expect(Number(second.headers.get('retry-after'))).toBeGreaterThan(0);
    const replayed = await send(['a', 'b'], '', { 'idempotency-key': 'k' });
    expect([replayed.status, replayed.headers.get('ratelimit')]).toEqual([202, null]);
    expect(await countRows(test.database, context.tenant.id)).toMatchObject({ events: 2 });
    expect((await send(['a'], '/t/acme')).status).toBe(202);
  });
});

describe('publish', () => {
  it('takes one statement for 500 events, and answers each in its place', async () => {
    await insertSubscription(test.database, context, { filters: ['org.created'] });
    await insertSubscription(test.database, context, { filters: ['*'], active: false });
    const items = Array.from({ length: 500 }, (_, index) =>
      item(`e-${index}`, { index }, index % 2 === 0 ? 'org.created' : 'vault.grant.revoked'),
    );
    const results = await publish(items);
    expect(statements).toBe(1);
    expect(results.map((result) => ('eventId' in result ? result.eventId : undefined))).toEqual(
      items.map((_, index) => `e-${index}`),
    );
    expect(codes(results)).toEqual(items.map((_, index) => (index % 2 === 0 ? 2 : 1)));
    expect(await countRows(test.database, context.tenant.id)).toEqual({
      events: 500,
      deliveries: 750,
      outbox: 750,
      published: 500,
    });
    expect(poke).toHaveBeenCalledTimes(1);
  });

  it('writes events that come one by one at the same moment together, of several tenants, each id once', async () => {
    const other = await createTenantContext(test.database);
    await insertSubscription(test.database, context, { filters: ['*'] });
    const requests = Array.from({ length: 60 }, (_, index) => ({
      given: index % 3 === 0 ? other : context,
      id: `one-${index % 30}`,
    }));
    const results = await Promise.all(
      requests.map(({ given, id }) => publish([item(id, { same: true })], given)),
    );
    expect(results.map(([result]) => result)).toEqual(
      requests.map(({ given, id }) => ({ eventId: id, deliveries: given === other ? 0 : 1 })),
    );
    // Two batches at most, and what each found known already, asked one by one.
    expect(statements).toBeLessThanOrEqual(2 + 30);
    expect(await countRows(test.database, context.tenant.id)).toMatchObject({ events: 20, deliveries: 20 });
    expect(await countRows(test.database, other.tenant.id)).toMatchObject({ events: 10, deliveries: 0 });
  });

  it('keeps an event that nobody subscribes to, for the feed', async () => {
    const [result] = await publish([item()]);
    expect(result).toMatchObject({ eventId: expect.stringMatching(/^[0-9a-f-]{36}$/), deliveries: 0 });
    expect(await countRows(test.database, context.tenant.id)).toEqual({
      events: 1,
      deliveries: 0,
      outbox: 0,
      published: 1,
    });
    expect(poke).not.toHaveBeenCalled();
  });

  it('gives a repetition the first answer, even when the subscriptions have changed', async () => {
    await insertSubscription(test.database, context, { filters: ['*'] });
    const first = await publish([item('same', { a: 1, b: { c: [1], d: 2 } })]);
    await insertSubscription(test.database, context, { filters: ['*'] });
    const again = await publish([item('same', { b: { d: 2, c: [1] }, a: 1 })]);
    expect(again).toEqual(first);
    expect((await countRows(test.database, context.tenant.id))?.deliveries).toBe(1);
    expect(statements).toBe(3);
  });

  it('refuses another content, type or time under a known id', async () => {
    await publish([item('taken', { a: 1 })]);
    const timed = readPublication(
      { type: 'org.created', data: { a: 1 }, event_id: 'taken', occurred_at: '2026-01-01T00:00:00Z' },
      'body',
    );
    const results = await publish([
      item('taken', { a: 2 }),
      item('taken', { a: 1 }, 'org.removed.all'),
      timed,
    ]);
    expect(codes(results)).toEqual(['event_id_conflict', 'event_id_conflict', 'event_id_conflict']);
  });

  it('settles the same id twice in one request', async () => {
    await insertSubscription(test.database, context, { filters: ['*'] });
    const results = await publish([item('x', { a: 1 }), item('x', { a: 1 }), item('x', { a: 2 })]);
    expect(codes(results)).toEqual([1, 1, 'event_id_conflict']);
    expect((await countRows(test.database, context.tenant.id))?.events).toBe(1);
  });

  it('reports failures beside successes', async () => {
    const results = await publish([
      item('good'),
      item(undefined, {}, 'webhook.test'),
      item(undefined, {}, 'Not A Type'),
      readPublication({ type: 'org.created' }, 'body.3'),
      item(undefined, { text: 'x'.repeat(270_000) }),
      item('also-good'),
    ]);
    expect(codes(results)).toEqual([
      0,
      'invalid_request',
      'invalid_request',
      'invalid_request',
      'payload_too_large',
      0,
    ]);
    expect((await countRows(test.database, context.tenant.id))?.published).toBe(2);
  });

  it('lets exactly one of many publishers of an id in, in whatever order they name their ids', async () => {
    await insertSubscription(test.database, context, { filters: ['*'] });
    const ids = Array.from({ length: 50 }, (_, index) => `c-${index}`);
    const all = await Promise.all(
      Array.from({ length: 8 }, (_, round) =>
        publish((round % 2 === 0 ? ids : ids.toReversed()).map((id) => item(id, { id }))),
      ),
    );
    expect(all.flatMap(codes)).toEqual(Array.from({ length: 400 }, () => 1));
    expect(await countRows(test.database, context.tenant.id)).toEqual({
      events: 50,
      deliveries: 50,
      outbox: 50,
      published: 50,
    });
  });

  it('lets one of two contents in when they race', async () => {
    const results = await Promise.all([1, 2, 3, 4].map((n) => publish([item('race', { n })])));
    const winners = results.flatMap(codes).filter((code) => code === 0);
    expect(winners).toHaveLength(1);
  });

  it('keeps the ids of tenants apart', async () => {
    const other = await createTenantContext(test.database);
    await insertSubscription(test.database, other, { filters: ['*'] });
    expect(codes(await publish([item('id', { a: 1 })]))).toEqual([0]);
    expect(codes(await publish([item('id', { a: 2 })], other))).toEqual([1]);
    expect((await countRows(test.database, context.tenant.id))?.deliveries).toBe(0);
  });

  it('joins the transaction of an idempotent request, and pokes after its commit only', async () => {
    await insertSubscription(test.database, context, { filters: ['*'] });
    const failing = test.database.transaction({}, async (transaction) => {
      await publish([item('rolled-back')], { ...context, transaction });
      throw new Error('no');
    });
    await expect(failing).rejects.toThrow('no');
    expect((await countRows(test.database, context.tenant.id))?.published).toBe(0);
    expect(poke).not.toHaveBeenCalled();
    await test.database.transaction({}, (transaction) =>
      publish([item('kept')], { ...context, transaction }),
    );
    expect((await countRows(test.database, context.tenant.id))?.deliveries).toBe(1);
    expect(poke).toHaveBeenCalledTimes(1);
    expect(statements).toBe(0);
  });
});

describe('the backlog', () => {
  it('counts unfinished deliveries of one tenant, up to a limit', async () => {
    await insertSubscription(test.database, context, { filters: ['*'] });
    await publish([item(), item(), item()]);
    expect(await store.countUnfinished(test.database, context.tenant.id, 10)).toBe(3);
    expect(await store.countUnfinished(test.database, context.tenant.id, 2)).toBe(2);
    await test.database.query(
      "UPDATE deliveries SET status = 'delivered' WHERE id = (SELECT min(id::text)::uuid FROM deliveries WHERE tenant_id = $1)",
      [context.tenant.id],
    );
    expect(await store.countUnfinished(test.database, context.tenant.id, 10)).toBe(2);
  });
});
