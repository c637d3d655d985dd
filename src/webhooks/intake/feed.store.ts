// SQL that reads events: the feed, and single events.
// docs/decisions/0012-event-feed.md
import type { RowPlace, SeenTransactions } from '../../platform/database/snapshot-position.ts';
import type { Queryable } from '../../platform/database/transaction.ts';
import type { FeedPosition } from './feed-cursor.ts';

export type StoredEvent = {
  readonly id: string;
  readonly xid: bigint;
  readonly test: boolean;
  /** JSON. */
  readonly body: string;
  readonly createdAt: Date;
};

/** Event types, and beginnings of event types that end with a dot. */
export type TypeFilter = { readonly exact: readonly string[]; readonly prefixes: readonly string[] };

/** A request of the feed. Events before the time `floor` are not read; their ids begin with their time. */
export type FeedRequest = {
  readonly after: FeedPosition;
  readonly floor: Date;
  readonly since: Date | undefined;
  readonly types: TypeFilter | undefined;
  readonly limit: number;
  /** Of the bodies of a page, which has at least one event. */
  readonly mostBytes: number;
};

/**
 * `seen`: what the statement saw at the time `readAt` of the database's clock. `hasMore`: there are rows after `last`,
 * the last row that was read.
 */
export type FeedPage = {
  readonly events: readonly StoredEvent[];
  readonly seen: SeenTransactions;
  readonly readAt: Date;
  readonly hasMore: boolean;
  readonly last: RowPlace | undefined;
};

type Row = {
  next: string;
  unfinished: readonly string[];
  readAt: Date;
  scanned: number;
  matched: number;
  lastXid: string | null;
  lastId: string | null;
  id: string | null;
  xid: string;
  test: boolean;
  body: string;
  createdAt: Date;
};

/** The most rows that a request with a type reads, so that a rare type does not cause a read of all events. */
const MAX_SCANNED = 5_000;

/** The stored bytes are UTF-8. As bytes they would come in hexadecimal digits, and cost three times as much. */
const BODY = `convert_from(body, 'UTF8') AS body`;

const PAGE = `
WITH moment AS (
  SELECT pg_snapshot_xmax(seen) AS next, ARRAY(SELECT xid FROM pg_snapshot_xip(seen) AS xid ORDER BY xid) AS unfinished, now() AS read_at
  FROM pg_current_snapshot() AS seen
), scanned AS (
  SELECT * FROM event_feed($1, $2::xid8, $3::uuid, $10::xid8[], $11::uuid[], uuid_of_time($4::timestamptz), $5::timestamptz, $8)
), matched AS (
  SELECT xid, id, row_number() OVER ordered AS n, sum(size) OVER ordered - size AS before
  FROM scanned
  WHERE $6::text[] IS NULL OR type = ANY($6) OR EXISTS (SELECT FROM unnest($7::text[]) AS p (prefix) WHERE starts_with(type, prefix))
  WINDOW ordered AS (ORDER BY xid, id)
), page AS (
  SELECT * FROM matched WHERE n <= $9 AND before < $12
), ending AS (
  SELECT xid AS last_xid, id AS last_id FROM scanned ORDER BY xid DESC, id DESC LIMIT 1
)
SELECT moment.next::text, moment.unfinished::text[], moment.read_at AS "readAt", (SELECT count(*)::int FROM scanned) AS scanned,
  (SELECT count(*)::int FROM matched) AS matched, ending.last_xid::text AS "lastXid", ending.last_id AS "lastId",
  page.id, page.xid::text, e.test, ${BODY}, e.created_at AS "createdAt"
FROM moment LEFT JOIN ending ON true LEFT JOIN page ON true LEFT JOIN events e ON e.id = page.id
ORDER BY page.n`;

// A publisher may choose an event id that the service has used. The newer event is returned.
const FIND = `
SELECT id, xid::text, test, ${BODY}, created_at AS "createdAt" FROM events WHERE tenant_id = $1 AND event_id = $2 ORDER BY id DESC LIMIT 1`;

/** A request with a type first reads so many rows for each event that it may give: most types are not rare. */
const FIRST_SCANNED = 5;

/** Reads the events after a position, the oldest first. */
export async function read(queryable: Queryable, tenantId: string, request: FeedRequest): Promise<FeedPage> {
  const { types, limit } = request;
  if (types === undefined) return (await scan(queryable, tenantId, request, limit + 1)).page;
  const first = await scan(queryable, tenantId, request, Math.min(FIRST_SCANNED * limit, MAX_SCANNED));
  if (first.matched >= limit || !first.page.hasMore) return first.page;
  return (await scan(queryable, tenantId, request, MAX_SCANNED)).page;
}

/** @param most rows that are read. @returns the page, and how many of the rows have a type that is asked for */
async function scan(
  queryable: Queryable,
  tenantId: string,
  { after, floor, since, types, limit, mostBytes }: FeedRequest,
  most: number,
): Promise<{ page: FeedPage; matched: number }> {
  const { rows } = await queryable.query<Row>(PAGE, [
    tenantId,
    after.xid.toString(),
    after.id,
    floor,
    since ?? null,
    types?.exact ?? null,
    types?.prefixes ?? null,
    most,
    limit,
    after.open.map(({ xid }) => xid.toString()),
    after.open.map(({ id }) => id),
    mostBytes,
  ]);
  const [first] = rows;
  if (first === undefined) throw new Error('the feed gave no row');
  const events = rows.flatMap((row) => (row.id === null ? [] : [toStoredEvent(row, row.id)]));
  const isCut = events.length < first.matched;
  const { lastXid: xid, lastId: id } = first;
  const lastRead = xid === null || id === null ? undefined : { xid: BigInt(xid), id };
  const page = {
    events,
    seen: { next: BigInt(first.next), unfinished: first.unfinished.map(BigInt) },
    readAt: first.readAt,
    hasMore: isCut || first.scanned >= most,
    last: isCut ? events.at(-1) : lastRead,
  };
  return { page, matched: first.matched };
}

/** Reads one event; a test event too. */
export async function find(
  queryable: Queryable,
  tenantId: string,
  eventId: string,
): Promise<StoredEvent | undefined> {
  const { rows } = await queryable.query<Row & { id: string }>(FIND, [tenantId, eventId]);
  return rows[0] === undefined ? undefined : toStoredEvent(rows[0], rows[0].id);
}

function toStoredEvent(row: Row, id: string): StoredEvent {
  return { id, xid: BigInt(row.xid), test: row.test, body: row.body, createdAt: row.createdAt };
}
