// Reads events: the feed, from which a polling client misses no event, and single events with their deliveries.
// docs/decisions/0012-event-feed.md

import type { JsonObject } from '../../events/event.ts';
import { isPattern, normalizeFilter } from '../../events/filter.ts';
import type { RequestContext } from '../../platform/context.ts';
import type { Database } from '../../platform/database/database.ts';
import type { RowPlace } from '../../platform/database/snapshot-position.ts';
import type { Queryable } from '../../platform/database/transaction.ts';
import { invalidField, ServiceError } from '../../platform/errors/service-error.ts';
import { Service } from '../../platform/service.ts';
import type { StoredEvent, TypeFilter } from './feed.store.ts';
import * as store from './feed.store.ts';
import type { FeedCursors } from './feed-cursor.node.ts';
import {
  FEED_KEPT_MS,
  FEED_SLACK_MS,
  FEED_START,
  type FeedPosition,
  MAX_CURSOR_LENGTH,
  positionAfterAll,
  positionAfterPage,
  positionAfterRow,
  timeOf,
} from './feed-cursor.ts';

/** An event for people. `body` is parsed from the delivered bytes. */
export type ShownEvent = { readonly body: JsonObject; readonly createdAt: Date; readonly test: boolean };

export type EventDelivery = { readonly id: string; readonly subscriptionId: string; readonly status: string };

/**
 * `type` has event types, and patterns such as `auth.*`; absent, all events are read. `isShared`: requests of another
 * tenant come to this process.
 */
export type FeedQuery = {
  readonly limit: number;
  readonly after?: string | undefined;
  readonly since?: Date | undefined;
  readonly type?: readonly string[] | undefined;
  readonly isShared?: boolean | undefined;
};

const DAY_MS = 86_400_000;

/** The most bytes of bodies in a page: writing a page holds up the requests of other tenants. */
const PAGE_BYTES = { alone: 256 * 1024, beside: 64 * 1024 };

/** An event of a page. `text` is the delivered body, a JSON object; `cursor` seals the place after it. */
export type FeedEvent = { readonly text: string; readonly createdAt: Date; readonly cursor: () => string };

/**
 * Events after a position. All that committed before `completeUntil`, a time of the database, is in this page or in an
 * earlier one; null while `hasMore`: there are more now; and of the newest first. `nextCursor` is set also after
 * the last event.
 */
export type FeedPage = {
  readonly data: readonly FeedEvent[];
  readonly nextCursor: string;
  readonly hasMore: boolean;
  readonly readAt: Date;
  readonly completeUntil: Date | null;
};

export type FeedNeeds = {
  database: Pick<Database, 'query' | 'transaction'>;
  /** Reads the deliveries of an event by its row. */
  deliveries: {
    listOfEvent(queryable: Queryable, tenantId: string, eventRow: string): Promise<EventDelivery[]>;
  };
  cursors: Pick<FeedCursors, 'seal' | 'open'>;
  now?: (() => number) | undefined;
  /** The most days for which events are kept. */
  keptDays?: number | undefined;
};

/**
 * Makes the event feed. The order of a page is (transaction, id). A cursor names the transactions that had not ended,
 * so an event that commits late is in a later page, and no transaction delays the events of another.
 */
export class FeedService extends Service<FeedNeeds> {
  readonly #now = this.needs.now ?? (() => Date.now());
  readonly #keptDays = this.needs.keptDays ?? FEED_KEPT_MS / DAY_MS;

  /** Reads the events after a cursor, the oldest first. @throws ServiceError `cursor_expired`, `invalid_request` */
  read = async (context: RequestContext, query: FeedQuery): Promise<FeedPage> => {
    const position = this.#positionAfter(context, query.after);
    const earliest = Math.max(position.at, query.since?.getTime() ?? 0);
    const page = await store.read(context.transaction ?? this.needs.database, context.tenant.id, {
      ...requestOf(query, earliest),
      after: position,
    });
    const { seen, readAt, hasMore, last } = page;
    const encode = (at: FeedPosition) => this.#seal(context.tenant.id, at);
    if (position.xid >= seen.next) throw replaced();
    const end = Math.max(readAt.getTime(), earliest);
    const nextOf = (): FeedPosition => {
      if (hasMore && last !== undefined) return positionAfterRow(position, last, seen);
      // What `since` leaves out is read too.
      if (last === undefined && query.since !== undefined) return positionAfterAll(seen, end);
      return positionAfterPage(position, last, seen, end);
    };
    return {
      ...showPage(page, (event) => encode(positionAfterRow(position, event, seen))),
      nextCursor: encode(nextOf()),
      completeUntil: hasMore ? null : readAt,
    };
  };

  /**
   * Reads the events before a cursor, the newest first: a view for people, which misses what commits late. Its cursors
   * are others than those of `read`.
   * @throws ServiceError `cursor_expired`, `invalid_request`
   */
  readNewest = async (context: RequestContext, { after, ...query }: FeedQuery): Promise<FeedPage> => {
    const owner = `${context.tenant.id} newest`;
    const before = after === undefined ? undefined : this.needs.cursors.open(owner, after);
    if (after !== undefined && before === undefined) throw foreign(' with `order=desc`');
    const page = await this.needs.database.transaction(context, (unit) =>
      store.readNewest(unit, context.tenant.id, {
        ...requestOf(query, query.since?.getTime() ?? 0),
        before,
      }),
    );
    if (before !== undefined && before.xid >= page.seen.next) throw replaced();
    const cursorAt = ({ xid, id }: RowPlace) =>
      this.#seal(owner, { xid, id, open: [], at: id === FEED_START.id ? 0 : timeOf(id) });
    return {
      ...showPage(page, cursorAt),
      nextCursor: cursorAt(page.last ?? before ?? FEED_START),
      completeUntil: null,
    };
  };

  /** Reads one event, a test event too, with its deliveries. @throws ServiceError `not_found` */
  get = async (
    context: RequestContext,
    eventId: string,
  ): Promise<ShownEvent & { readonly deliveries: readonly EventDelivery[] }> => {
    const unit = context.transaction ?? this.needs.database;
    const event = await store.find(unit, context.tenant.id, eventId);
    if (event === undefined)
      throw new ServiceError('not_found', { detail: 'There is no event with this id.' });
    return {
      ...show(event),
      deliveries: await this.needs.deliveries.listOfEvent(unit, context.tenant.id, event.id),
    };
  };

  #seal = (owner: string, position: FeedPosition): string => {
    const cursor = this.needs.cursors.seal(owner, position);
    if (cursor.length <= MAX_CURSOR_LENGTH) return cursor;
    throw new ServiceError('temporarily_unavailable', {
      detail: 'More transactions are under way in the database than a cursor can name.',
    });
  };

  /** @throws ServiceError `cursor_expired` when later events may be deleted, `invalid_request` for an invalid cursor */
  #positionAfter = ({ tenant }: RequestContext, cursor: string | undefined): FeedPosition => {
    if (cursor === undefined) return FEED_START;
    const position = this.needs.cursors.open(tenant.id, cursor);
    if (position === undefined) throw foreign();
    const { eventsDays = this.#keptDays, eventsGoneBefore } = tenant;
    const kept = Math.max(
      this.#now() - Math.min(eventsDays, this.#keptDays) * DAY_MS,
      Number(eventsGoneBefore ?? 0),
    );
    if (position.at < kept)
      throw expired('The cursor is older than the events that are kept: some after it are gone.');
    return position;
  };
}

/** @param earliest milliseconds: no event before it is in the page */
function requestOf({ limit, since, type, isShared = false }: FeedQuery, earliest: number) {
  return {
    floor: new Date(Math.max(0, earliest - FEED_SLACK_MS)),
    since,
    types: type === undefined ? undefined : readTypes(type),
    limit,
    mostBytes: isShared ? PAGE_BYTES.beside : PAGE_BYTES.alone,
  };
}

/** @param cursorAt seals the place after an event: only a stream asks for that of each */
function showPage({ events, hasMore, readAt }: store.FeedPage, cursorAt: (event: StoredEvent) => string) {
  const data = events.map((event) => ({
    text: event.body,
    createdAt: event.createdAt,
    cursor: () => cursorAt(event),
  }));
  return { data, hasMore, readAt };
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

function show({ body, createdAt, test }: StoredEvent): ShownEvent {
  return { body: JSON.parse(body), createdAt, test };
}

const foreign = (how = '') => invalidField('query.after', `is not a cursor that the feed gave${how}`);

const replaced = () =>
  expired('The cursor is of a database that was replaced: its positions mean nothing here.');

function expired(detail: string): ServiceError {
  return new ServiceError('cursor_expired', {
    detail: `${detail} Begin again without \`after\`, with \`since\` if not from the oldest.`,
  });
}
