// SQL that marks overdue challenges as expired and counts them. It must never read a challenge twice: the place that it has come to is
// written with what it marks.
import type { Queryable, Unit } from '../database/transaction.ts';
import { OVERDUE_SECONDS } from './expiry.ts';

/** Challenges of a tenant that were marked. */
export type ExpiredCount = { readonly tenantId: string; readonly expired: number };

type Window = { since: string; until: string; more: boolean };

// Whole seconds at least, as challenges end at whole seconds, any number of them at one. Times go out as text: '-infinity' is no date.
const NEXT_WINDOW = `
SELECT since::text, until::text, until < horizon AS more
FROM (
  SELECT swept_until AS since, horizon,
    least(horizon, greatest(swept_until + interval '1 second', coalesce(
      (SELECT expires_at FROM challenges WHERE expires_at >= swept_until ORDER BY expires_at OFFSET $1 LIMIT 1), horizon))) AS until
  FROM challenge_sweep, (SELECT (now() - interval '${OVERDUE_SECONDS} seconds')::timestamptz(3) AS horizon) AS clock
) AS next
WHERE since < until`;

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

/** SQL of the sweep; functions that take a `Unit` belong into one transaction, which begins with `lock`. */
export function createExpiryStore() {
  return {
    /** Keeps other sweeps out until the transaction ends. */
    lock: async (unit: Unit): Promise<void> => {
      await unit.query('SELECT FROM challenge_sweep FOR UPDATE');
    },

    /**
     * Marks the next overdue challenges, about `limit` of them, from where the last call came to.
     * @returns how many were marked, and whether there is more that is overdue
     */
    markNext: async (unit: Unit, limit: number): Promise<{ expired: number; more: boolean }> => {
      const { rows } = await unit.query<Window>(NEXT_WINDOW, [limit]);
      const [window] = rows;
      if (window === undefined) return { expired: 0, more: false };
      const marked = await unit.query<{ expired: number }>(MARK, [window.since, window.until]);
      return { expired: marked.rows[0]?.expired ?? 0, more: window.more };
    },

    /**
     * Takes the counts that are in no bucket's line of the audit log, for the bucket that ends then.
     * @returns null when this bucket, or a later one, has its lines already: the next one takes what has come since
     */
    takeCounts: async (unit: Unit, endsAt: string): Promise<ExpiredCount[] | null> => {
      const { rowCount } = await unit.query(
        'UPDATE challenge_sweep SET audited_until = $1::timestamptz WHERE audited_until < $1::timestamptz',
        [endsAt],
      );
      if (rowCount === 0) return null;
      const { rows } = await unit.query<ExpiredCount>(
        'DELETE FROM challenge_expiry_counts RETURNING tenant_id AS "tenantId", expired',
      );
      return rows;
    },

    /** The end of the oldest challenge that is overdue for so many seconds, neither used nor marked; null when there is none. */
    findOldestUnswept: async (queryable: Queryable, seconds: number): Promise<Date | null> => {
      const { rows } = await queryable.query<{ expires_at: Date }>(
        `SELECT expires_at FROM challenges
         WHERE expires_at >= (SELECT swept_until FROM challenge_sweep) AND expires_at < now() - make_interval(secs => $1)
           AND consumed_at IS NULL AND expired_at IS NULL
         ORDER BY expires_at LIMIT 1`,
        [seconds],
      );
      return rows[0]?.expires_at ?? null;
    },

    /** The database's clock. */
    readClock: async (queryable: Queryable): Promise<Date> => {
      const { rows } = await queryable.query<{ now: Date }>('SELECT now()::timestamptz(3) AS now');
      const [row] = rows;
      if (row === undefined) throw new Error('the database has no time');
      return row.now;
    },
  };
}

export type ExpiryStore = ReturnType<typeof createExpiryStore>;
