// SQL that marks overdue challenges as expired and counts them. The statement that marks them also stores the position
// of the sweep, so no challenge is counted twice.
import { countBreaches } from '../../platform/database/breach.ts';
import { changed, many, one, value } from '../../platform/database/statements.ts';
import type { Queryable, Transaction } from '../../platform/database/transaction.ts';
import type { ChallengeExpiryCountRow } from './challenge.model.ts';
import { OVERDUE_SECONDS } from './challenge-expiry.ts';

export type ExpiredCount = ChallengeExpiryCountRow;

// OFFSET 0 makes Postgres compute the position once instead of at each use. A window is at least a second long, because
// many challenges may expire at the same whole second. Times are selected as text, because '-infinity' cannot become a
// Date.
const findWindow = one<{ since: string; until: string; more: boolean }, [limit: number]>(`
SELECT since::text, until::text, until < horizon AS more
FROM (
  SELECT swept_until AS since, horizon,
    least(horizon, greatest(swept_until + interval '1 second', coalesce(
      (SELECT expires_at FROM challenges WHERE expires_at >= swept_until ORDER BY expires_at OFFSET $1 LIMIT 1), horizon))) AS until
  FROM challenge_sweep, (SELECT (now() - interval '${OVERDUE_SECONDS} seconds')::timestamptz(3) AS horizon) AS clock
  OFFSET 0
) AS next
WHERE since < until`);

// Tenants are taken in the order of their ids. A tenant that already has its entry of this bucket is not taken again;
// its later challenges are counted by the entry of the next bucket.
const takeNext = many<ExpiredCount, [endsAt: string, after: string | null, limit: number]>(`
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
SELECT tenant_id, expired FROM taken ORDER BY tenant_id`);

const findTurn = one<{ place: string | null }, [endsAt: string]>(`
SELECT CASE WHEN auditing_until = $1::timestamptz THEN auditing_after END AS place FROM challenge_sweep
WHERE audited_until < $1::timestamptz AND auditing_until <= $1::timestamptz`);

const mark = value<number, [since: string, until: string]>(`
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
SELECT count(*)::int AS expired FROM expired`);

/** Excludes other sweeps until the transaction ends. */
export const lock = changed('SELECT FROM challenge_sweep FOR UPDATE');

/** Marks about `limit` overdue challenges. @returns how many were marked, and whether more are overdue */
export async function markNext(unit: Queryable, limit: number): Promise<{ expired: number; more: boolean }> {
  const window = await findWindow(unit, limit);
  if (window === undefined) return { expired: 0, more: false };
  return { expired: await mark(unit, window.since, window.until), more: window.more };
}

/**
 * Takes the counts of the next tenants, at most `limit`, for the bucket with this end. The bucket is complete when the
 * result contains fewer than `limit` tenants.
 * @returns null when this bucket is complete, or when a later bucket has begun its entries. The next bucket takes the
 * remaining counts.
 */
export async function takeCounts(
  unit: Transaction,
  endsAt: string,
  limit: number,
): Promise<ExpiredCount[] | null> {
  const turn = await findTurn(unit, endsAt);
  return turn === undefined ? null : takeNext(unit, endsAt, turn.place, limit);
}

/** Unused challenges that have expired and that no sweep has marked. */
export const findUnswept = countBreaches(
  'expires_at',
  `FROM challenges WHERE expires_at >= (SELECT swept_until FROM challenge_sweep) AND consumed_at IS NULL AND expired_at IS NULL`,
);

export const readClock = value<Date>('SELECT now()::timestamptz(3) AS now');
