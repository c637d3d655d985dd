// SQL of revocations. A revocation is inserted in the transaction of its cause. Each process that accepts tokens reads
// it.
import { validate as isUuid } from 'uuid';
import { columnsOf } from '../../platform/columns.ts';
import { TIME } from '../../platform/database/database-clock.ts';
import { deleteOldest } from '../../platform/database/deletion.ts';
import {
  createPositions,
  type RowPlace,
  type SeenTransactions,
  type SnapshotPosition,
} from '../../platform/database/snapshot-position.ts';
import { many } from '../../platform/database/statements.ts';
import type { Queryable } from '../../platform/database/transaction.ts';
import { type EndedToken, endersOf, type RevocableClaims, type Revocation, tokensOf } from './revocation.ts';

/**
 * How long a revocation of a principal is kept: longer than any setting lets an access token live (a day), and than a
 * revoked issuer key is listed (10 minutes more), because a stolen one signs new tokens.
 */
const KEPT = "interval '25 hours'";

/** How long a revocation of one token is kept after the end of the token, for the clocks of two machines. */
const CLOCK_SLACK = "interval '5 minutes'";

/** Rows of single tokens of one holder. Beyond them one row ends all tokens that the holder got until now. */
export const MOST_SINGLE = 10_000;

/** Rows that one statement reads. */
const PAGE = 2_000;

export const POSITIONS = createPositions({ least: '0', greatest: '9223372036854775807' });

/**
 * `last`: the last row that was read; with `hasMore` there may be more. `isComplete`: with this page and those before
 * it, a reader has all rows that committed before its statement. `time`: of the database, in milliseconds since 1970.
 * `madeAt`: when the first row was made; null without one.
 */
export type RevocationPage = {
  readonly revocations: readonly Revocation[];
  readonly seen: SeenTransactions;
  readonly last: RowPlace | undefined;
  readonly hasMore: boolean;
  readonly isComplete: boolean;
  readonly madeAt: number | null;
  readonly time: number;
};

type EndedTokens = {
  readonly tenantId: string;
  readonly holder: string;
  readonly tokens: readonly Required<EndedToken>[];
};

const COLUMNS = `id::float8 AS id, tenant_id, token_id, principal,
  extract(epoch FROM not_before)::float8 * 1000 AS not_before, extract(epoch FROM expires_at)::float8 * 1000 AS expires_at`;

const TOKENS = columnsOf<Required<EndedToken>>({ uuid: ['id'], float8: ['expiresAt'] });

// Earlier revocations of the principal have no effect any more. Rows that are locked stay, so nothing waits.
const supersede = (principal: string) => `
superseded AS (
  DELETE FROM revocations USING (
    SELECT id FROM revocations WHERE principal = ${principal} AND id < (SELECT max(id) FROM ended) FOR UPDATE SKIP LOCKED
  ) AS old WHERE revocations.id = old.id
)`;

// The ids of tokens begin with their times: a token that a fast clock made later than now keeps its row. So do the
// tokens of this statement, because a token exchange that is under way may not have read that they end.
const insertRows = many<Revocation, unknown[]>(`
WITH added AS (
  INSERT INTO revocations (tenant_id, holder, token_id, expires_at)
  SELECT $3, $4, id, to_timestamp(expires_at / 1000) + ${CLOCK_SLACK} FROM ${TOKENS.from('token')}
  RETURNING *
), living AS (
  SELECT FROM revocations WHERE holder = $4 AND expires_at > now() LIMIT $5
), ended AS (
  INSERT INTO revocations (tenant_id, principal, not_before, expires_at)
  SELECT $3, $4, clock_timestamp(), now() + ${KEPT} WHERE (SELECT count(*) FROM living) + $6 > $5 RETURNING *
), ${supersede('$4')}, replaced AS (
  DELETE FROM revocations USING (
    SELECT id FROM revocations
    WHERE holder = $4 AND expires_at > now() AND token_id < (SELECT uuid_of_time(max(not_before)) FROM ended)
      AND EXISTS (SELECT FROM ended)
    FOR UPDATE SKIP LOCKED
  ) AS old WHERE revocations.id = old.id
)
SELECT ${COLUMNS} FROM added UNION ALL SELECT ${COLUMNS} FROM ended`);

/** Ends all tokens of a principal. @param until `now`: tokens issued until now; `ever`: later tokens too */
export const insertPrincipal = many<
  Revocation,
  [tenantId: string, principal: string, until: 'now' | 'ever']
>(`
WITH ended AS (
  INSERT INTO revocations (tenant_id, principal, not_before, expires_at)
  VALUES ($1, $2, CASE $3 WHEN 'now' THEN clock_timestamp() ELSE 'infinity' END, now() + ${KEPT}) RETURNING *
), ${supersede('$2')}
SELECT ${COLUMNS} FROM ended`);

/** `id` is null in the only row of an empty page. */
type PageRow = Omit<Revocation, 'id'> & {
  readonly id: number | null;
  readonly xid: string;
  readonly place: string;
  readonly next: string;
  readonly unfinished: readonly string[];
  readonly isForeign: boolean;
  readonly time: number;
  readonly madeAt: number | null;
};

// Ids are texts here, because the greatest one is no number of JavaScript.
const readRows = many<
  PageRow,
  [xid: string, id: string, openXids: readonly string[], openIds: readonly string[], limit: number]
>(`
WITH page AS (
  SELECT * FROM revocation_page($1::xid8, $2::text::bigint, $3::xid8[], $4::text[]::bigint[], $5)
)
SELECT pg_snapshot_xmax(seen)::text AS next, ARRAY(SELECT xid FROM pg_snapshot_xip(seen) AS xid ORDER BY xid)::text[] AS unfinished,
  coalesce((SELECT xid FROM revocations ORDER BY xid DESC, id DESC LIMIT 1) >= pg_snapshot_xmax(seen), false) AS is_foreign,
  ${TIME} AS time,
  (SELECT extract(epoch FROM made_at)::float8 * 1000 FROM revocations WHERE id = (SELECT id FROM page ORDER BY xid, id LIMIT 1)) AS made_at,
  xid::text, page.id::text AS place, ${COLUMNS}
FROM pg_current_snapshot() AS seen LEFT JOIN page ON true ORDER BY page.xid, page.id`);

const readEnding = many<Revocation, [tokens: readonly string[], principals: readonly string[]]>(`
SELECT ${COLUMNS} FROM revocations WHERE token_id = ANY ($1::uuid[])
UNION ALL
SELECT ${COLUMNS} FROM revocations WHERE principal = ANY ($2::uuid[])`);

/**
 * Ends tokens of one holder. When with them more than `most` rows of its living tokens would be kept, one row that ends
 * all its tokens until now replaces those of before.
 * @param holder see `holderOf` @returns the rows that were inserted
 */
export async function insertTokens(
  unit: Queryable,
  { tenantId, holder, tokens }: EndedTokens,
  most = MOST_SINGLE,
): Promise<Revocation[]> {
  // Of so many tokens the oldest have no row: the one for all ends them.
  const kept = tokens.toSorted((a, b) => (a.id < b.id ? 1 : -1)).slice(0, most);
  return insertRows(unit, ...TOKENS.of(kept), tenantId, holder, most, tokens.length);
}

/**
 * Reads the revocations after a position, in the order of their transactions. Rows of transactions that this cluster
 * has not begun, of a database that comes from another one, have no place in the order and make no page complete.
 */
export async function readPage(
  queryable: Queryable,
  { xid, id, open }: SnapshotPosition,
  limit = PAGE,
): Promise<RevocationPage> {
  const rows = await readRows(
    queryable,
    xid.toString(),
    id,
    open.map((row) => row.xid.toString()),
    open.map((row) => row.id),
    limit,
  );
  const [first] = rows;
  if (first === undefined) throw new Error('the snapshot gave no row');
  const read = rows.filter((row) => row.id !== null);
  const last = read.at(-1);
  const hasMore = read.length >= limit;
  return {
    revocations: read as readonly Revocation[],
    seen: { next: BigInt(first.next), unfinished: first.unfinished.map(BigInt) },
    last: last && { xid: BigInt(last.xid), id: last.place },
    hasMore,
    isComplete: !hasMore && !first.isForeign,
    time: first.time,
    madeAt: first.madeAt,
  };
}

/** Reads the revocations that end any of these tokens. */
export const readOf = (queryable: Queryable, claims: readonly RevocableClaims[]): Promise<Revocation[]> =>
  readEnding(queryable, claims.flatMap(tokensOf).filter(isUuid), claims.flatMap(endersOf).filter(isUuid));

/** Deletes revocations whose tokens have all expired. @returns the number deleted, at most `limit` */
export const purge = deleteOldest('revocations', {
  key: ['id'],
  old: 'expires_at < now()',
  by: 'expires_at',
});
