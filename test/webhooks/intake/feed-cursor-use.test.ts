// What a cursor of the feed is good for: how long, of which database, and what it shows.
import { afterAll, expect, it, vi } from 'vitest';
import { FEED_CURSOR, FEED_KEPT_MS, positionAfterAll } from '../../../src/webhooks/intake/feed-cursor.ts';
import { PATIENCE } from '../../setup/patience.ts';
import { createWebhookRooms } from '../webhook-rooms.ts';
import { CURSORS } from './fixture.ts';
import { createFeed, placeOf } from './tenant-feed.ts';

const rooms = await createWebhookRooms();
afterAll(() => rooms.close());

it('answers 410 once events after the cursor may be gone, not to a reader that keeps asking a quiet feed', async () => {
  let now = Date.now();
  const { feed, context, publish, follow } = await createFeed(rooms, () => now);
  await publish(['a']);
  const { cursor } = await follow();
  now += FEED_KEPT_MS - 60_000;
  const { nextCursor } = await feed.read(context, { after: cursor, limit: 10 });
  expect(nextCursor).toMatch(FEED_CURSOR);
  now += 600_000;
  await expect(feed.read(context, { after: cursor, limit: 10 })).rejects.toMatchObject({
    code: 'cursor_expired',
    detail: expect.stringContaining('since'),
  });
});

it('answers 410 once events after the cursor may be gone by a setting of the tenant, of now or of before', async () => {
  let now = Date.now();
  const { feed, context, publish, follow } = await createFeed(rooms, () => now);
  await publish(['a']);
  const { cursor } = await follow();
  now += 3 * 86_400_000;
  const readAs = (more: Partial<typeof context.tenant>) =>
    feed.read({ ...context, tenant: { ...context.tenant, ...more } }, { after: cursor, limit: 10 });
  const gone = { code: 'cursor_expired', detail: expect.stringContaining('since') };
  await expect(readAs({ eventsDays: 2 })).rejects.toMatchObject(gone);
  await expect(readAs({ eventsDays: 9, eventsGoneBefore: new Date(now - 60_000) })).rejects.toMatchObject(
    gone,
  );
  expect((await readAs({ eventsDays: 4, eventsGoneBefore: new Date(now - 4 * 86_400_000) })).data).toEqual(
    [],
  );
  expect((await readAs({})).data).toEqual([]);
});

it('answers 410 to a cursor that is ahead of the database: it was replaced', async () => {
  const { feed, context } = await createFeed(rooms);
  const position = positionAfterAll({ next: 2n ** 62n, unfinished: [] }, Date.now());
  const ahead = CURSORS.cursors.seal(context.tenant.id, position);
  await expect(feed.read(context, { after: ahead, limit: 10 })).rejects.toMatchObject({
    code: 'cursor_expired',
  });
});

it('moves its cursor on while nothing happens, so that it never grows old', async () => {
  const { feed, context } = await createFeed(rooms);
  const { nextCursor } = await feed.read(context, { limit: 10 });
  await vi.waitUntil(
    async () => {
      const later = await feed.read(context, { limit: 10, after: nextCursor });
      return Number(placeOf(context, later.nextCursor)?.at) > Number(placeOf(context, nextCursor)?.at);
    },
    { ...PATIENCE, interval: 5 },
  );
});

it('says nothing of the transactions of other tenants', async () => {
  const { feed, context, publish } = await createFeed(rooms);
  await publish(['a', 'b']);
  const page = await feed.read(context, { limit: 10 });
  const { rows } = await rooms.database.query<{ xid: string }>(
    'SELECT DISTINCT xid::text FROM events WHERE tenant_id = $1',
    [context.tenant.id],
  );
  const [row] = rows;
  const xid = Buffer.alloc(8);
  xid.writeBigUInt64BE(BigInt(row?.xid ?? 0));
  for (const cursor of [page.nextCursor, ...page.data.map((event) => event.cursor())]) {
    expect(placeOf(context, cursor)?.xid).toBeGreaterThanOrEqual(BigInt(row?.xid ?? 0));
    expect(Buffer.from(cursor, 'base64url').indexOf(xid.subarray(0, 6))).toBe(-1);
  }
});
