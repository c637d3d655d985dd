// Reads events: the feed, from which a polling client misses no event, and single events with their deliveries.
// docs/decisions/0012-event-feed.md

import type { JsonObject } from '../../events/event.ts';
import { isPattern, normalizeFilter } from '../../events/filter.ts';
import type { RequestContext } from '../../platform/context.ts';
import type { Database } from '../../platform/database/database.ts';
import type { Queryable } from '../../platform/database/transaction.ts';
import { invalidField, ServiceError } from '../../platform/errors/service-error.ts';
import { bindUseCases } from '../../platform/use-cases.ts';
import type { StoredEvent, TypeFilter } from './feed.store.ts';
import * as store from './feed.store.ts';
import { createFeedCompleteness, type FeedCompleteness } from './feed-completeness.ts';
import {
  decodePosition,
  encodePosition,
  FEED_KEPT_MS,
  FEED_SLACK_MS,
  FEED_START,
  type FeedPosition,
  positionBefore,
  positionOf,
} from './feed-cursor.ts';

/** An event for people. `body` is parsed from the delivered bytes. */
export type ShownEvent = { readonly body: JsonObject; readonly createdAt: Date; readonly test: boolean };

/** So far back a page begins while it is unknown since when a transaction is open: its cursor is good for a day. */
const UNKNOWN_MS = FEED_KEPT_MS - 86_400_000;

export type EventDelivery = { readonly id: string; readonly subscriptionId: string; readonly status: string };

/** `type` has event types, and patterns such as `auth.*`; absent, all events are read. */
export type FeedQuery = {
  readonly limit: number;
  readonly after?: string | undefined;
  readonly since?: Date | undefined;
  readonly type?: readonly string[] | undefined;
};

/**
 * Events after a position. All that committed before `completeUntil` is in this page or in an earlier one; null: nobody
 * knows. Both times are the database's. `nextCursor` is set also after the last event; `hasMore`: there are more now.
 */
export type FeedPage = {
  readonly data: readonly ShownEvent[];
  readonly nextCursor: string;
  readonly hasMore: boolean;
  readonly readAt: Date;
  readonly completeUntil: Date | null;
};

export type FeedNeeds = {
  database: Pick<Database, 'query'>;
  deliveries: {
    listOfEvent(queryable: Queryable, tenantId: string, eventRow: string): Promise<EventDelivery[]>;
  };
  completeness?: FeedCompleteness | undefined;
  now?: (() => number) | undefined;
};

/**
 * Makes the event feed. Its order is (transaction, id). An event appears only when all earlier transactions have ended,
 * so an event that commits late never appears before a cursor that was already returned.
 * @param options.deliveries reads the deliveries of an event by its row
 * @param options.completeness who sees transactions more often than the feed is read adds what it saw
 */
export function createFeedService(needs: FeedNeeds) {
  const tools = prepareFeed(needs);
  return bindUseCases(tools, { read, get });
}

export type FeedService = ReturnType<typeof createFeedService>;

type FeedTools = ReturnType<typeof prepareFeed>;

function prepareFeed({
  completeness = createFeedCompleteness(),
  now = () => Date.now(),
  ...needs
}: FeedNeeds) {
  return { ...needs, completeness, now };
}

/** Reads the events after a cursor, the oldest first. @throws ServiceError `cursor_expired`, `invalid_request` */
async function read(
  needs: FeedTools,
  context: RequestContext,
  { limit, after, since, type }: FeedQuery,
): Promise<FeedPage> {
  const position = positionAfter(needs, after);
  const earliest = Math.max(position.at, since?.getTime() ?? 0);
  const page = await store.read(context.transaction ?? needs.database, context.tenant.id, {
    after: position,
    floor: new Date(Math.max(0, earliest - FEED_SLACK_MS)),
    since,
    types: type === undefined ? undefined : readTypes(type),
    limit,
  });
  const { horizon, newest, readAt, hasMore, last } = page;
  if (position.xid >= newest)
    throw expired('The cursor is of a database that was replaced: its positions mean nothing here.');
  needs.completeness.add({ horizon, newest, at: readAt.getTime() });
  const until = needs.completeness.until(horizon);
  // What a transaction under way writes has an id of any time since it began: the cursor keeps an earlier time.
  const end = positionBefore(horizon, Math.max(until ?? readAt.getTime() - UNKNOWN_MS, earliest));
  // A transaction of an earlier read may still keep the horizon below the cursor. The cursor must not move back.
  const next = hasMore && last !== undefined ? positionOf(last) : later(position, end);
  return {
    data: page.events.map(show),
    nextCursor: encodePosition(next),
    hasMore,
    readAt,
    completeUntil: hasMore || until === undefined ? null : new Date(until),
  };
}

/** Reads one event, a test event too, with its deliveries. @throws ServiceError `not_found` */
async function get(
  { database, deliveries }: FeedTools,
  context: RequestContext,
  eventId: string,
): Promise<ShownEvent & { readonly deliveries: readonly EventDelivery[] }> {
  const unit = context.transaction ?? database;
  const event = await store.find(unit, context.tenant.id, eventId);
  if (event === undefined) throw new ServiceError('not_found', { detail: 'There is no event with this id.' });
  return {
    ...show(event),
    deliveries: await deliveries.listOfEvent(unit, context.tenant.id, event.id),
  };
}

/** @throws ServiceError `cursor_expired` when later events may be deleted, `invalid_request` for an invalid cursor */
function positionAfter({ now }: FeedTools, cursor: string | undefined): FeedPosition {
  if (cursor === undefined) return FEED_START;
  const position = decodePosition(cursor);
  if (position === undefined) throw invalidField('query.after', 'is not a cursor that the feed gave');
  if (position.at < now() - FEED_KEPT_MS)
    throw expired('The cursor is older than the 30 days for which events are kept: some after it are gone.');
  return position;
}

/** @returns undefined when one of them is the pattern of all events */
function readTypes(filters: readonly string[]): TypeFilter | undefined {
  const types = filters.map(normalizeFilter);
  if (types.includes('*')) return undefined;
  return {
    exact: types.filter((type) => !isPattern(type)),
    prefixes: types.filter(isPattern).map((pattern) => pattern.slice(0, -1)),
  };
}

function later(a: FeedPosition, b: FeedPosition): FeedPosition {
  return a.xid > b.xid ? a : b;
}

function show({ body, createdAt, test }: StoredEvent): ShownEvent {
  return { body: JSON.parse(body.toString('utf8')), createdAt, test };
}

function expired(detail: string): ServiceError {
  return new ServiceError('cursor_expired', {
    detail: `${detail} Begin again without \`after\`, with \`since\` if not from the oldest.`,
  });
}
