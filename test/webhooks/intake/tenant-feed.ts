// The feed of one tenant, for tests that read it, and what they know of its cursors.
import type { RequestContext } from '../../../src/platform/context.ts';
import { type FeedPage, FeedService } from '../../../src/webhooks/intake/feed.service.ts';
import type { WebhookRooms } from '../webhook-rooms.ts';
import { CURSORS, createTenantContext } from './fixture.ts';

export const publication = (eventId: string, type = 'org.created', data = {}) => ({
  path: 'body',
  type,
  data,
  eventId,
  occurredAt: undefined,
});

/** A tenant of its own with a feed, so that tests do not read each other's events. */
export async function createFeed(rooms: WebhookRooms, now?: () => number) {
  const context = await createTenantContext(rooms.database);
  const { database, deliveries, publishing } = rooms;
  const feed = new FeedService({ ...CURSORS, database, deliveries, now });
  const publish = (ids: string[], type?: string, given: RequestContext = context) =>
    publishing.publish(
      given,
      ids.map((id) => publication(id, type)),
    );
  const idsOf = (page: Pick<FeedPage, 'data'>) =>
    page.data.map(({ text }) => String(JSON.parse(text).event_id));
  /** Reads to the end. */
  const follow = async (after?: string, limit = 200) => {
    const ids: string[] = [];
    for (let cursor = after; ; ) {
      const page = await feed.read(context, { after: cursor, limit });
      ids.push(...idsOf(page));
      cursor = page.nextCursor;
      if (!page.hasMore) return { ids, cursor };
    }
  };
  return { context, feed, publish, idsOf, follow };
}

/** The place of a cursor that the feed has given. */
export const placeOf = ({ tenant }: RequestContext, cursor: string) =>
  CURSORS.cursors.open(tenant.id, cursor);
