// The feed: nothing is missed and nothing comes twice, in any order of commits.
import { afterAll, describe, expect, it } from 'vitest';
import { newId } from '../../../src/platform/database/ids.ts';
import { type FeedPage, FeedService } from '../../../src/webhooks/intake/feed.service.ts';
import { encodePosition, positionAfterAll } from '../../../src/webhooks/intake/feed-cursor.ts';
import { createWebhookRooms } from '../webhook-rooms.ts';
import { CURSORS } from './fixture.ts';
import { openForeignTransaction } from './foreign-transaction.ts';
import { createFeed, placeOf, publication } from './tenant-feed.ts';

type Shown = { event_id: string; type: string; data: { n?: number } };
type Page = { data: Shown[]; next_cursor: string; has_more: boolean };

const rooms = await createWebhookRooms();
afterAll(() => rooms.close());

const FEED = '/api/v1/events';
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe('the feed', () => {
  it('gives all events in pages, the oldest first, and goes on where it was', async () => {
    const { publish, follow, feed, context } = await createFeed(rooms);
    for (const id of ['a', 'b', 'c']) await publish([id]);
    await publish(['d', 'e']);
    const first = await follow(undefined, 2);
    expect(first.ids).toEqual(['a', 'b', 'c', 'd', 'e']);
    expect(await feed.read(context, { after: first.cursor, limit: 2 })).toMatchObject({
      data: [],
      hasMore: false,
    });
    await publish(['f']);
    expect((await follow(first.cursor)).ids).toEqual(['f']);
  });

  it('waits for no transaction under way, and gives what it commits late in a later page', async () => {
    const { publish, follow, feed, context, idsOf } = await createFeed(rooms);
    await publish(['before']);
    const { cursor } = await follow();
    const read = (after: string | undefined) => feed.read(context, { after, limit: 10 });
    const pages: FeedPage[] = [];
    await rooms.database.transaction({}, async (transaction) => {
      await publish(['late'], 'org.created', { ...context, transaction });
      await publish(['early']);
      pages.push(await read(cursor), await read(undefined));
    });
    expect(pages.map(idsOf)).toEqual([['early'], ['before', 'early']]);
    for (const page of pages) expect(idsOf(await read(page.nextCursor))).toEqual(['late']);
    expect(idsOf(await read(cursor))).toEqual(['late', 'early']);
  });

  it('gives what a transaction commits late in pages, too, and nothing twice', async () => {
    const { publish, feed, context, idsOf } = await createFeed(rooms);
    const read = (after: string | undefined, limit: number) => feed.read(context, { after, limit });
    const { cursor, late } = await rooms.database.transaction({}, async (transaction) => {
      const ids = ['l1', 'l2', 'l3', 'l4', 'l5'];
      await publish(ids, 'org.created', { ...context, transaction });
      return { cursor: (await read(undefined, 10)).nextCursor, late: ids };
    });
    await publish(['after']);
    const seen: string[] = [];
    for (let page = await read(cursor, 2); ; page = await read(page.nextCursor, 2)) {
      seen.push(...idsOf(page));
      if (!page.hasMore) break;
    }
    expect(seen).toEqual([...late, 'after']);
  });

  it('forgets what was rolled back', async () => {
    const { publish, follow, context } = await createFeed(rooms);
    const failing = rooms.database.transaction({}, async (transaction) => {
      await publish(['gone'], 'org.created', { ...context, transaction });
      throw new Error('no');
    });
    await expect(failing).rejects.toThrow('no');
    await publish(['stays']);
    expect((await follow()).ids).toEqual(['stays']);
  });

  it('gives each event of many slow and fast publishers once to a reader that polls beside them', async () => {
    const { publish, feed, context, idsOf } = await createFeed(rooms);
    const publishers = Array.from({ length: 6 }, async (_, publisher) => {
      for (let n = 0; n < 12; n += 1) {
        const id = `${publisher}-${n}`;
        if (publisher % 2 === 0) await publish([id]);
        else
          await rooms.database.transaction({}, async (transaction) => {
            await publish([id], 'org.created', { ...context, transaction });
            await pause((publisher * n) % 23);
          });
      }
    });
    const published = Promise.all(publishers);
    const seen: string[] = [];
    let after: string | undefined;
    for (let tries = 0; seen.length < 72 && tries < 3_000; tries += 1) {
      const page = await feed.read(context, { after, limit: 5 });
      seen.push(...idsOf(page));
      after = page.nextCursor;
      if (!page.hasMore) await pause(5);
    }
    await published;
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen).toHaveLength(72);
  });

  it('takes types, patterns and a time, and looks at so many events in one read', async () => {
    const { publish, feed, context, idsOf } = await createFeed(rooms);
    await publish(['m1', 'm2'], 'org.member.added');
    await publish(['v1'], 'vault.grant.revoked');
    await publish(['c1'], 'org.created');
    const read = async (type?: string, since?: Date) =>
      idsOf(await feed.read(context, { limit: 10, type: type?.split(','), since }));
    expect(await read('org.member.added')).toEqual(['m1', 'm2']);
    expect(await read('org.*')).toEqual(['m1', 'm2', 'c1']);
    expect(await read('org.member.*')).toEqual(['m1', 'm2']);
    expect(await read('org.created,org.member.added')).toEqual(['m1', 'm2', 'c1']);
    expect(await read('vault.*,org.created')).toEqual(['v1', 'c1']);
    expect(await read('vault.*,wallet.*')).toEqual(['v1']);
    for (const all of ['*', '**', 'org.created,*']) expect(await read(all)).toHaveLength(4);
    expect(await read('wallet.*')).toEqual([]);
    expect(await read(undefined, new Date(Date.now() + 60_000))).toEqual([]);
    expect(await read(undefined, new Date(Date.now() - 600_000))).toHaveLength(4);
    await rooms.database.query(
      `INSERT INTO events (id, tenant_id, event_id, type, occurred_at, body)
       SELECT (substr($2, 1, 24) || lpad(to_hex(n), 12, '0'))::uuid, $1, n::text, 'org.filler', now(), '{}'
       FROM generate_series(1, 5100) AS n`,
      [context.tenant.id, newId()],
    );
    await publish(['rare'], 'wallet.tx.signed');
    const first = await feed.read(context, { limit: 10, type: ['wallet.tx.signed'] });
    expect([first.data, first.hasMore]).toEqual([[], true]);
    const second = await feed.read(context, {
      limit: 10,
      type: ['wallet.tx.signed'],
      after: first.nextCursor,
    });
    expect([idsOf(second), second.hasMore]).toEqual([['rare'], false]);
  });

  it('reads what it gives and not what is left of the day, without statistics too', async () => {
    const { context } = await createFeed(rooms);
    for (let n = 0; n < 4; n += 1)
      await rooms.database.query(
        `INSERT INTO events (id, tenant_id, event_id, type, occurred_at, body)
         SELECT (substr($2, 1, 24) || lpad(to_hex(n), 12, '0'))::uuid, $1, n::text, 'org.filler', now(), convert_to(repeat('x', 500), 'UTF8')
         FROM generate_series(1, 5000) AS n`,
        [context.tenant.id, newId()],
      );
    const blocks = async () => {
      const { rows } = await rooms.database.query<{ 'QUERY PLAN': [{ Plan: Record<string, number> }] }>(
        `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON)
         SELECT * FROM event_feed('${context.tenant.id}', '0', '00000000-0000-0000-0000-000000000000', '{}', '{}', uuid_of_time(now() - interval '1 hour'), NULL, 201)`,
      );
      const plan = rows[0]?.['QUERY PLAN'][0].Plan;
      return Number(plan?.['Shared Hit Blocks']) + Number(plan?.['Shared Read Blocks']);
    };
    await blocks();
    expect(await blocks()).toBeLessThan(400);
  });

  it.each([
    ['256 KiB', false, 3],
    ['64 KiB, beside requests of another tenant,', true, 1],
  ])('gives no more than %s and an event in a page', async (_, isShared, most) => {
    const { context } = await createFeed(rooms);
    const { database, publishing } = rooms;
    const ids = Array.from({ length: 5 }, (_, n) => `large-${n}`);
    await publishing.publish(
      context,
      ids.map((id) => publication(id, 'org.created', { text: 'x'.repeat(100_000) })),
    );
    const page = await new FeedService({
      ...CURSORS,
      database,
      deliveries: rooms.deliveries,
    }).read(context, { limit: 200, isShared });
    expect([page.data.length, page.hasMore]).toEqual([most, true]);
  });

  it('does not show rows of transactions that this cluster has not begun', async () => {
    const { publish, follow, context } = await createFeed(rooms);
    await publish(['dumped']);
    await rooms.database.query(
      "UPDATE events SET xid = '4611686018427387904' WHERE tenant_id = $1 AND event_id = 'dumped'",
      [context.tenant.id],
    );
    await publish(['here']);
    expect((await follow()).ids).toEqual(['here']);
  });
});

describe('how far the feed is complete', () => {
  it('is until it was read, also while a transaction is open in another database', async () => {
    const { feed, context, publish, idsOf } = await createFeed(rooms);
    const close = await openForeignTransaction();
    try {
      await publish(['seen']);
      const page = await feed.read(context, { limit: 10 });
      expect(idsOf(page)).toEqual(['seen']);
      expect(page.completeUntil).toEqual(page.readAt);
      await publish(['later']);
      const next = await feed.read(context, { limit: 10, after: page.nextCursor });
      expect(idsOf(next)).toEqual(['later']);
      expect(placeOf(context, next.nextCursor)?.at).toBe(Number(next.readAt));
    } finally {
      await close();
    }
  });

  it('is not said of a page that is not the last one', async () => {
    const { feed, context, publish } = await createFeed(rooms);
    await publish(['a', 'b']);
    expect(await feed.read(context, { limit: 1 })).toMatchObject({ hasMore: true, completeUntil: null });
  });
});

describe('GET /api/v1/events', () => {
  it('shows what deliveries carry, and keeps tests out', async () => {
    const subscription = await rooms.subscribe();
    const tested = await rooms.send('POST', `/api/v1/webhooks/${subscription}/test`, {
      event_type: 'wallet.tx.signed',
    });
    expect(tested.status).toBe(202);
    const sent = { type: 'orders.order.placed', data: { n: 1 }, event_id: 'shown' };
    await rooms.send('POST', FEED, sent);
    const { body: page } = await rooms.send('GET', `${FEED}?limit=200`);
    const shown = (page as Page).data;
    expect(shown.find(({ event_id }) => event_id === 'shown')).toEqual({
      ...sent,
      occurred_at: expect.any(String),
      tenant_id: rooms.demo.tenant.id,
      created_at: expect.any(String),
    });
    expect(shown.map(({ event_id }) => event_id)).not.toContain(tested.body.event_id);
    expect(shown.map(({ type }) => type)).not.toContain('wallet.tx.signed');
    const stranger = await rooms.send('GET', `/t/acme${FEED}?after=${page.next_cursor}`);
    expect([stranger.status, stranger.body.errors]).toEqual([
      400,
      [{ path: 'query.after', message: 'is not a cursor that the feed gave' }],
    ]);
    const one = await rooms.send('GET', `${FEED}/${tested.body.event_id}`);
    expect(one.body).toMatchObject({
      test: true,
      type: 'wallet.tx.signed',
      deliveries: [{ id: tested.body.delivery_id, subscription_id: subscription, status: 'pending' }],
    });
    expect((await rooms.send('GET', `/t/acme${FEED}/${tested.body.event_id}`)).status).toBe(404);
  });

  it.each([
    ['after=nonsense', 'query.after'],
    [`after=${'A'.repeat(39)}`, 'query.after'],
    [`after=${'A'.repeat(64)}`, 'query.after'],
    [
      `after=${Buffer.from(encodePosition(positionAfterAll({ next: 2n, unfinished: [1n] }, Date.now()))).toString('base64url')}`,
      'query.after',
    ],
    [`after=${'_'.repeat(4_033)}`, 'query.after'],
    ['type=Not.A.Type', 'query.type'],
    ['type=org.*.created', 'query.type'],
    ['type=org.created,', 'query.type'],
    [`type=${Array(21).fill('org.created').join()}`, 'query.type'],
    ['since=yesterday', 'query.since'],
    ['limit=0', 'query.limit'],
    ['limit=201', 'query.limit'],
    ['cursor=x', 'query.cursor'],
  ])('refuses ?%s', async (query, path) => {
    const answer = await rooms.send('GET', `${FEED}?${query}`);
    expect([answer.status, answer.body.errors?.[0].path]).toEqual([400, path]);
  });

  it('reads an event whatever its id, and 404 for what is none', async () => {
    for (const eventId of ['a/b?c=d#e%20&', '..', '~'.repeat(128), newId()]) {
      await rooms.send('POST', FEED, { type: 'org.created', data: {}, event_id: eventId });
      const { status, body } = await rooms.send(
        'GET',
        `${FEED}/${encodeURIComponent(eventId).replaceAll('.', '%2E')}`,
      );
      expect([eventId, status, body.event_id]).toEqual([
        eventId,
        eventId === '..' ? 404 : 200,
        eventId === '..' ? undefined : eventId,
      ]);
    }
    for (const unknown of ['never', 'x'.repeat(129), '%20', newId()])
      expect((await rooms.send('GET', `${FEED}/${unknown}`)).status).toBe(404);
  });
});
