// SQL that reads events: the feed, and single events.
// docs/decisions/0012-event-feed.md
import type { RowPlace, SeenTransactions } from '../../platform/database/snapshot-position.ts';
import { changed, many, one } from '../../platform/database/statements.ts';
import type { Queryable } from '../../platform/database/transaction.ts';
import { FEED_SLACK_MS, type FeedPosition, NEWEST, timeOf } from './feed-cursor.ts';

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

/** A request of events. Events before the time `floor` are not read; their ids begin with their time. */
type AnyRequest = {
  readonly floor: Date;
  readonly since: Date | undefined;
  readonly types: TypeFilter | undefined;
  readonly limit: number;
  /** Of the bodies of a page, which has at least one event. */
  readonly mostBytes: number;
};

export type FeedRequest = AnyRequest & { readonly after: FeedPosition };

/** `before` is a row that was read; absent, the newest events are read. */
export type NewestRequest = AnyRequest & { readonly before: RowPlace | undefined };

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

type RequestValues = [
  floor: Date,
  since: Date | undefined,
  types: readonly string[] | undefined,
  prefixes: readonly string[] | undefined,
  most: number,
  limit: number,
  mostBytes: number,
];
type PageValues = [tenantId: string, xid: string, id: string, ...RequestValues];

/** The most rows that a request with a type reads, so that a rare type does not cause a read of all events. */
const MAX_SCANNED = 5_000;

/** The stored bytes are UTF-8. As bytes they would come in hexadecimal digits, and cost three times as much. */
const BODY = `convert_from(body, 'UTF8') AS body`;

/**
 * @param scanned a query of xid, id, type and size, whose own parameters begin with $11
 * @param order of its rows, and the `opposite` one
 */
const pageOf = (scanned: string, order: 'ASC' | 'DESC', opposite: 'ASC' | 'DESC'): string => `
WITH moment AS (
  SELECT pg_snapshot_xmax(seen) AS next, ARRAY(SELECT xid FROM pg_snapshot_xip(seen) AS xid ORDER BY xid) AS unfinished, now() AS read_at
  FROM pg_current_snapshot() AS seen
), scanned AS MATERIALIZED (${scanned}), matched AS (
  SELECT xid, id, row_number() OVER ordered AS n, sum(size) OVER ordered - size AS before
  FROM scanned
  WHERE $6::text[] IS NULL OR type = ANY($6) OR EXISTS (SELECT FROM unnest($7::text[]) AS p (prefix) WHERE starts_with(type, prefix))
  WINDOW ordered AS (ORDER BY xid ${order}, id ${order})
), page AS (
  SELECT * FROM matched WHERE n <= $9 AND before < $10
), ending AS (
  SELECT xid AS last_xid, id AS last_id FROM scanned ORDER BY xid ${opposite}, id ${opposite} LIMIT 1
)
SELECT moment.next::text, moment.unfinished::text[], moment.read_at AS read_at, (SELECT count(*)::int FROM scanned) AS scanned,
  (SELECT count(*)::int FROM matched) AS matched, ending.last_xid::text AS last_xid, ending.last_id AS last_id,
  page.id, page.xid::text, e.test, ${BODY}, e.created_at
FROM moment LEFT JOIN ending ON true LEFT JOIN page ON true LEFT JOIN events e ON e.id = page.id
ORDER BY page.n`;

const pageAfter = many<Row, [...PageValues, openXids: readonly string[], openIds: readonly string[]]>(
  pageOf(
    `SELECT * FROM event_feed($1, $2::xid8, $3::uuid, $11::xid8[], $12::uuid[], uuid_of_time($4::timestamptz), $5::timestamptz, $8)`,
    'ASC',
    'DESC',
  ),
);

// As event_feed, in the other direction: the bounds of ids name the partitions, that of xid ends the index's range.
const pageBefore = many<Row, [...PageValues, ceiling: Date]>(
  pageOf(
    `
  SELECT e.xid, e.id, e.type, octet_length(e.body) AS size
  FROM events e
  WHERE e.tenant_id = $1 AND NOT e.test AND (e.xid, e.id) < ($2::xid8, $3::uuid) AND e.xid < pg_snapshot_xmax(pg_current_snapshot())
    AND e.id >= uuid_of_time($4::timestamptz) AND e.id < uuid_of_time($11::timestamptz) AND ($5::timestamptz IS NULL OR e.created_at >= $5)
    AND e.xid >= coalesce((
      SELECT p.xid FROM events p WHERE $5 IS NOT NULL AND p.id < uuid_of_time($5 - interval '10 minutes') ORDER BY p.id DESC LIMIT 1
    ), '0')
  ORDER BY e.xid DESC, e.id DESC LIMIT $8`,
    'DESC',
    'ASC',
  ),
);

/** Of the 48 bits of an id's time. */
const LAST_TIME = 2 ** 48 - 1;

// Without statistics of a day that has just begun the planner would rather read and sort all that is left of it.
const readInOrder = changed(`
SELECT set_config(name, 'off', true) FROM unnest(ARRAY['enable_sort', 'enable_bitmapscan', 'enable_seqscan']) AS name`);

// A publisher may choose an event id that the service has used. The newer event is returned.
const findLatest = one<
  Pick<Row, 'xid' | 'test' | 'body' | 'createdAt'> & { id: string },
  [tenantId: string, eventId: string]
>(`
SELECT id, xid::text, test, ${BODY}, created_at FROM events WHERE tenant_id = $1 AND event_id = $2 ORDER BY id DESC LIMIT 1`);

/** A request with a type first reads so many rows for each event that it may give: most types are not rare. */
const FIRST_SCANNED = 5;

/** Reads the events after a position, the oldest first. */
export function read(queryable: Queryable, tenantId: string, request: FeedRequest): Promise<FeedPage> {
  const { xid, id, open } = request.after;
  const others = [open.map((row) => row.xid.toString()), open.map((row) => row.id)] as const;
  return readPage(request, (most) =>
    scan(pageAfter(queryable, tenantId, xid.toString(), id, ...valuesOf(request, most), ...others), most),
  );
}

/** Reads the events before a row, the newest first. @param unit whose later statements it leaves with its settings */
export async function readNewest(
  unit: Queryable,
  tenantId: string,
  request: NewestRequest,
): Promise<FeedPage> {
  const { xid, id } = request.before ?? NEWEST;
  const ceiling = new Date(Math.min(timeOf(id) + FEED_SLACK_MS, LAST_TIME));
  await readInOrder(unit);
  return readPage(request, (most) =>
    scan(pageBefore(unit, tenantId, xid.toString(), id, ...valuesOf(request, most), ceiling), most),
  );
}

const valuesOf = ({ floor, since, types, limit, mostBytes }: AnyRequest, most: number): RequestValues => [
  floor,
  since,
  types?.exact,
  types?.prefixes,
  most,
  limit,
  mostBytes,
];

type Scan = { readonly page: FeedPage; readonly matched: number };

async function readPage(
  { types, limit }: AnyRequest,
  scanMost: (most: number) => Promise<Scan>,
): Promise<FeedPage> {
  if (types === undefined) return (await scanMost(limit + 1)).page;
  const first = await scanMost(Math.min(FIRST_SCANNED * limit, MAX_SCANNED));
  if (first.matched >= limit || !first.page.hasMore) return first.page;
  return (await scanMost(MAX_SCANNED)).page;
}

/** @param most rows that are read. @returns the page, and how many of the rows have a type that is asked for */
async function scan(page: Promise<Row[]>, most: number): Promise<Scan> {
  const rows = await page;
  const [first] = rows;
  if (first === undefined) throw new Error('the feed gave no row');
  const events = rows.flatMap((row) => (row.id === null ? [] : [toStoredEvent(row, row.id)]));
  const isCut = events.length < first.matched;
  const { lastXid: xid, lastId: id } = first;
  const lastRead = xid === null || id === null ? undefined : { xid: BigInt(xid), id };
  const read = {
    events,
    seen: { next: BigInt(first.next), unfinished: first.unfinished.map(BigInt) },
    readAt: first.readAt,
    hasMore: isCut || first.scanned >= most,
    last: isCut ? events.at(-1) : lastRead,
  };
  return { page: read, matched: first.matched };
}

/** Reads one event; a test event too. */
export async function find(
  queryable: Queryable,
  tenantId: string,
  eventId: string,
): Promise<StoredEvent | undefined> {
  const row = await findLatest(queryable, tenantId, eventId);
  return row && toStoredEvent(row, row.id);
}

function toStoredEvent(row: Pick<Row, 'xid' | 'test' | 'body' | 'createdAt'>, id: string): StoredEvent {
  return { id, xid: BigInt(row.xid), test: row.test, body: row.body, createdAt: row.createdAt };
}
