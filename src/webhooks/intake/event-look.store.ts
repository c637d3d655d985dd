// SQL that finds the types of events that have become visible since an earlier look, of many tenants in one statement.
// docs/decisions/0042-held-reads.md
import type { RowPlace, SnapshotPosition } from '../../platform/database/snapshot-position.ts';
import { many } from '../../platform/database/statements.ts';
import type { Queryable } from '../../platform/database/transaction.ts';
import type { TenantNews } from './event-news.ts';
import { FEED_SLACK_MS, FEED_START, LAST_ID, positionAfterAll, positionAfterPage } from './feed-cursor.ts';

/**
 * What a look saw at a time of the database: `position`, from which the next one goes on; the transaction `next`, which
 * it could not see; and the news.
 */
export type Look = {
  readonly position: SnapshotPosition;
  readonly next: bigint;
  readonly readAt: Date;
  readonly news: TenantNews[];
};

/** The most rows of one tenant that a look reads; beyond them the events are of any type. */
const MOST_ROWS = 1_000;

type Row = {
  next: string;
  unfinished: readonly string[];
  readAt: Date;
  tenantId: string | null;
  types: string[] | null;
  last: string | null;
};

const readNews = many<
  Row,
  [
    tenantIds: readonly string[],
    xid: string,
    id: string,
    openXids: readonly string[],
    openIds: readonly string[],
    slackMs: number,
    most: number,
  ]
>(`
WITH moment AS (
  SELECT pg_snapshot_xmax(seen) AS next, ARRAY(SELECT xid FROM pg_snapshot_xip(seen) AS xid ORDER BY xid) AS unfinished, now() AS read_at
  FROM pg_current_snapshot() AS seen
)
SELECT moment.next::text, moment.unfinished::text[], moment.read_at AS read_at, news.tenant AS tenant_id, news.types,
  news.last::text
FROM moment LEFT JOIN (
  SELECT asked.tenant, CASE WHEN count(*) < $7 THEN array_agg(DISTINCT e.type) END AS types,
    (array_agg(e.xid ORDER BY e.xid DESC))[1] AS last
  FROM unnest($1::uuid[]) AS asked (tenant)
  CROSS JOIN LATERAL event_feed(asked.tenant, $2::xid8, $3::uuid, $4::xid8[], $5::uuid[],
    uuid_of_time(now() - $6::float8 * interval '1 millisecond'), NULL, $7::int) AS e
  GROUP BY asked.tenant
) AS news ON true`);

/**
 * Looks at the events of tenants. @param since the position after the look before
 * @returns news of the tenants that have events, tests excepted, which that look could not see
 */
export async function look(
  queryable: Queryable,
  tenantIds: readonly string[],
  since: SnapshotPosition | undefined,
): Promise<Look> {
  const { xid, id, open } = since ?? FEED_START;
  const rows = await readNews(
    queryable,
    since === undefined ? [] : tenantIds,
    xid.toString(),
    id,
    open.map((row) => row.xid.toString()),
    open.map((row) => row.id),
    FEED_SLACK_MS,
    MOST_ROWS,
  );
  const [first] = rows;
  if (first === undefined) throw new Error('the look gave no row');
  const seen = { next: BigInt(first.next), unfinished: first.unfinished.map(BigInt) };
  return {
    position:
      since === undefined
        ? positionAfterAll(seen, 0)
        : positionAfterPage({ ...since, at: 0 }, lastOf(rows), seen, 0),
    next: seen.next,
    readAt: first.readAt,
    news: rows.flatMap(({ tenantId, types }) =>
      tenantId === null ? [] : [{ tenantId, types: types ?? undefined }],
    ),
  };
}

/** All of a transaction is seen, so its last row need not be known. */
function lastOf(rows: readonly Row[]): RowPlace | undefined {
  const [xid] = rows
    .flatMap(({ last }) => (last === null ? [] : [BigInt(last)]))
    .sort((a, b) => (a < b ? 1 : -1));
  return xid === undefined ? undefined : { xid, id: LAST_ID };
}
