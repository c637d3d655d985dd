// The newest events first: pages for people, whose cursor leads to older ones.
import { afterAll, describe, expect, it } from 'vitest';
import { createWebhookRooms } from '../webhook-rooms.ts';
import { createFeed } from './tenant-feed.ts';

const rooms = await createWebhookRooms();
afterAll(() => rooms.close());

const FEED = '/api/v1/events';

describe('the newest events', () => {
  it('come first, and the cursor leads to older ones while newer ones come', async () => {
    const { publish, feed, context, idsOf } = await createFeed(rooms);
    await publish(['a', 'b', 'c']);
    await publish(['d', 'e']);
    const first = await feed.readNewest(context, { limit: 2 });
    expect([idsOf(first), first.hasMore, first.completeUntil]).toEqual([['e', 'd'], true, null]);
    await publish(['f']);
    const second = await feed.readNewest(context, { limit: 2, after: first.nextCursor });
    expect([idsOf(second), second.hasMore]).toEqual([['c', 'b'], true]);
    const last = await feed.readNewest(context, { limit: 2, after: second.nextCursor });
    expect([idsOf(last), last.hasMore]).toEqual([['a'], false]);
    const none = await feed.readNewest(context, { limit: 2, after: last.nextCursor });
    expect([idsOf(none), none.hasMore]).toEqual([[], false]);
    expect(idsOf(await feed.readNewest(context, { limit: 1 }))).toEqual(['f']);
  });

  it('are all of 3,000, each once, in as many pages as they fill', async () => {
    const { publish, feed, context, idsOf, follow } = await createFeed(rooms);
    for (let batch = 0; batch < 6; batch += 1)
      await publish(Array.from({ length: 500 }, (_, n) => `${batch}-${n}`));
    const seen: string[] = [];
    let pages = 0;
    for (let after: string | undefined; ; pages += 1) {
      const page = await feed.readNewest(context, { limit: 200, after });
      seen.push(...idsOf(page));
      if (!page.hasMore) break;
      after = page.nextCursor;
    }
    expect(pages).toBe(14);
    expect(seen).toEqual((await follow()).ids.reverse());
  });

  it('take types and a time', async () => {
    const { publish, feed, context, idsOf } = await createFeed(rooms);
    await publish(['m1'], 'org.member.added');
    await publish(['v1'], 'vault.grant.revoked');
    await publish(['c1'], 'org.created');
    const read = async (type?: string, since?: Date) =>
      idsOf(await feed.readNewest(context, { limit: 10, type: type?.split(','), since }));
    expect(await read('org.*')).toEqual(['c1', 'm1']);
    expect(await read('vault.*,org.created')).toEqual(['c1', 'v1']);
    expect(await read('wallet.*')).toEqual([]);
    expect(await read(undefined, new Date(Date.now() + 60_000))).toEqual([]);
    expect(await read('org.*', new Date(Date.now() - 60_000))).toEqual(['c1', 'm1']);
  });

  it('are of one tenant, and so are their cursors, which the feed does not take', async () => {
    const [mine, other] = [await createFeed(rooms), await createFeed(rooms)];
    await mine.publish(['a', 'b']);
    const { nextCursor: after } = await mine.feed.readNewest(mine.context, { limit: 1 });
    expect((await other.feed.readNewest(other.context, { limit: 5 })).data).toEqual([]);
    const { cursor: forward } = await mine.follow();
    for (const refused of [
      other.feed.readNewest(other.context, { limit: 5, after }),
      mine.feed.read(mine.context, { limit: 5, after }),
      mine.feed.readNewest(mine.context, { limit: 5, after: forward }),
    ])
      await expect(refused).rejects.toMatchObject({ code: 'invalid_request' });
  });

  it('fill no more than 256 KiB and an event', async () => {
    const { feed, context } = await createFeed(rooms);
    const body = { type: 'org.created', data: { text: 'x'.repeat(100_000) }, path: 'body' };
    await rooms.publishing.publish(
      context,
      Array.from({ length: 5 }, (_, n) => ({ ...body, eventId: `large-${n}`, occurredAt: undefined })),
    );
    const page = await feed.readNewest(context, { limit: 200 });
    expect([page.data.length, page.hasMore]).toEqual([3, true]);
    const rest = await feed.readNewest(context, { limit: 200, after: page.nextCursor });
    expect([rest.data.length, rest.hasMore]).toEqual([2, false]);
  });
});

describe('GET /api/v1/events?order=desc', () => {
  it('is 304 while nothing newer has come', async () => {
    const event = (id: string) => ({ type: 'orders.placed', data: {}, event_id: id });
    await rooms.send('POST', FEED, event('first'));
    const read = (tag: string) =>
      rooms.send('GET', `${FEED}?order=desc&limit=1`, undefined, { 'if-none-match': tag });
    const first = await read('"none"');
    expect(first.body).toMatchObject({ data: [event('first')], has_more: false, complete_until: null });
    const tag = String(first.headers.get('etag'));
    expect((await read(tag)).status).toBe(304);
    await rooms.send('POST', FEED, event('second'));
    expect((await read(tag)).body).toMatchObject({ data: [event('second')], has_more: true });
  });

  it.each([
    ['order=newest', {}, 'query.order'],
    ['order=desc&wait=5', {}, 'query.wait'],
    ['order=desc', { accept: 'text/event-stream' }, 'query.order'],
    [`order=desc&after=${'A'.repeat(64)}`, {}, 'query.after'],
  ])('refuses ?%s with %j', async (query, headers, path) => {
    const answer = await rooms.send('GET', `${FEED}?${query}`, undefined, headers);
    expect([answer.status, answer.body.errors?.[0].path]).toEqual([400, path]);
  });
});
