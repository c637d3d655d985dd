// SQL that marks overdue challenges as expired and counts them. The statement that marks also writes the position of
// the sweep, so no challenge is counted twice.
import type { Queryable, Transaction } from '../../platform/database/transaction.ts';
import { OVERDUE_SECONDS } from './challenge-expiry.ts';

/** The number of marked challenges of a tenant. */
export type ExpiredCount = { readonly tenantId: string; readonly expired: number };

type Window = { since: string; until: string; more: boolean };

// OFFSET 0 makes Postgres compute the position once, not once for each use.
// At least a whole second: challenges expire at whole seconds, and many may share one. Times are read as text, because
// '-infinity' is no date.
const NEXT_WINDOW = `
SELECT since::text, until::text, until < horizon AS more
FROM (
  SELECT swept_until AS since, horizon,
    least(horizon, greatest(swept_until + interval '1 second', coalesce(
      (SELECT expires_at FROM challenges WHERE expires_at >= swept_until ORDER BY expires_at OFFSET $1 LIMIT 1), horizon))) AS until
  FROM challenge_sweep, (SELECT (now() - interval '${OVERDUE_SECONDS} seconds')::timestamptz(3) AS horizon) AS clock
  OFFSET 0
) AS next
WHERE since < until`;

// In the order of tenants: when a tenant already has its entry of this bucket, its later challenges are in its entry of
// the next bucket.
const TAKE_COUNTS = `
WITH taken AS (
  DELETE FROM challenge_expiry_counts WHERE tenant_id IN (
    SELECT tenant_id FROM challenge_expiry_counts WHERE $2::uuid IS NULL OR tenant_id > $2 ORDER BY tenant_id LIMIT $3)
  RETURNING tenant_id, expired
), counted AS (
  SELECT count(*) < $3 AS is_last, (array_agg(tenant_id ORDER BY tenant_id DESC))[1] AS place FROM taken
), moved AS (
  UPDATE challenge_sweep SET auditing_until = $1::timestamptz, auditing_after = coalesce(place, auditing_after),
    audited_until = CASE WHEN is_last THEN $1::timestamptz ELSE audited_until END
  FROM counted
)
SELECT tenant_id AS "tenantId", expired FROM taken ORDER BY tenant_id`;

const MARK = `
WITH expired AS (
  UPDATE challenges SET expired_at = now()
  WHERE expires_at >= $1::timestamptz AND expires_at < $2::timestamptz AND consumed_at IS NULL AND expired_at IS NULL
  RETURNING tenant_id
), counted AS (
  INSERT INTO challenge_expiry_counts AS known (tenant_id, expired)
  SELECT tenant_id, count(*) FROM expired GROUP BY tenant_id ORDER BY tenant_id
  ON CONFLICT (tenant_id) DO UPDATE SET expired = known.expired + excluded.expired
), moved AS (
  UPDATE challenge_sweep SET swept_until = $2::timestamptz WHERE swept_until < $2::timestamptz
)
SELECT count(*)::int AS expired FROM expired`;

/** Locks out other sweeps until the transaction ends. */
export async function lock(unit: Transaction): Promise<void> {
  await unit.query('SELECT FROM challenge_sweep FOR UPDATE');
}

/**
 * Marks the next overdue challenges, about `limit` of them, after the position of the last call.
 * @returns how many were marked, and whether more are overdue
 */
export async function markNext(unit: Queryable, limit: number): Promise<{ expired: number; more: boolean }> {
  const { rows } = await unit.query<Window>(NEXT_WINDOW, [limit]);
  const [window] = rows;
  if (window === undefined) return { expired: 0, more: false };
  const marked = await unit.query<{ expired: number }>(MARK, [window.since, window.until]);
  return { expired: marked.rows[0]?.expired ?? 0, more: window.more };
}

/**
 * Takes the counts of the next tenants without an audit entry, at most `limit`, for the bucket with this end. Fewer
 * than `limit` tenants complete the bucket.
 * @returns null when this bucket is complete, or a later bucket has begun its entries: the next bucket takes the
 *   remaining counts
 */
export async function takeCounts(
  unit: Transaction,
  endsAt: string,
  limit: number,
): Promise<ExpiredCount[] | null> {
  const { rows } = await unit.query<{ place: string | null }>(
    `SELECT CASE WHEN auditing_until = $1::timestamptz THEN auditing_after END AS place FROM challenge_sweep
         WHERE audited_until < $1::timestamptz AND auditing_until <= $1::timestamptz`,
    [endsAt],
  );
  const [turn] = rows;
  if (turn === undefined) return null;
  return (await unit.query<ExpiredCount>(TAKE_COUNTS, [endsAt, turn.place, limit])).rows;
}

/**
 * The expiry time of the oldest challenge that is overdue by this many seconds and neither used nor marked; null
 * without one.
 */
export async function findOldestUnswept(queryable: Queryable, seconds: number): Promise<Date | null> {
  const { rows } = await queryable.query<{ expiresAt: Date }>(
    `SELECT expires_at AS "expiresAt" FROM challenges
         WHERE expires_at >= (SELECT swept_until FROM challenge_sweep) AND expires_at < now() - make_interval(secs => $1)
           AND consumed_at IS NULL AND expired_at IS NULL
         ORDER BY expires_at LIMIT 1`,
    [seconds],
  );
  return rows[0]?.expiresAt ?? null;
}

/** The database's clock. */
export async function readClock(queryable: Queryable): Promise<Date> {
  const { rows } = await queryable.query<{ now: Date }>('SELECT now()::timestamptz(3) AS now');
  const [row] = rows;
  if (row === undefined) throw new Error('the database has no time');
  return row.now;
}
