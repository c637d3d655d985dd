// SQL of brute force episodes, in the table rate_limits. A crash of the database can lose a row, which loses one event.
import type { Queryable } from '../platform/database/transaction.ts';

/** `failures`: number in the current window. `isNew`: true for exactly the failure that began an episode. */
export type EpisodeTally = { readonly failures: number; readonly isNew: boolean };

const COUNT = `
WITH clock AS MATERIALIZED (
  SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS ms
), counted AS (
  INSERT INTO rate_limits AS r (key, points, expire)
  SELECT 'guesses:' || $1, 1, ms + $2::bigint * 1000 FROM clock
  ON CONFLICT (key) DO UPDATE SET
    points = CASE WHEN r.expire <= (SELECT ms FROM clock) THEN 1 ELSE r.points + 1 END,
    expire = CASE WHEN r.expire <= (SELECT ms FROM clock) THEN excluded.expire ELSE r.expire END
  RETURNING points
), continued AS (
  UPDATE rate_limits SET expire = ms + $2::bigint * 1000 FROM clock WHERE key = 'episode:' || $1 AND expire > ms RETURNING 1
), begun AS (
  INSERT INTO rate_limits AS e (key, points, expire)
  SELECT 'episode:' || $1, 1, ms + $2::bigint * 1000 FROM clock, counted
  WHERE counted.points >= $3::int AND NOT EXISTS (SELECT FROM continued)
  ON CONFLICT (key) DO UPDATE SET expire = excluded.expire WHERE e.expire <= (SELECT ms FROM clock)
  RETURNING 1
)
SELECT points AS failures, EXISTS (SELECT FROM begun) AS "isNew" FROM counted`;

const CONTINUE = `
UPDATE rate_limits SET expire = ms + $2::bigint * 1000
FROM (SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS ms) AS clock
WHERE key = 'episode:' || $1 AND expire > ms`;

/**
 * Counts a failure. The failure number `threshold` within a window begins an episode when none is open. A failure
 * during an open episode extends it.
 * @param window seconds
 */
export async function count(
  queryable: Queryable,
  name: string,
  { window, threshold }: { readonly window: number; readonly threshold: number },
): Promise<EpisodeTally> {
  const { rows } = await queryable.query<EpisodeTally>(COUNT, [name, window, threshold]);
  if (rows[0] === undefined) throw new Error('counting a failure returned nothing');
  return rows[0];
}

/** Extends the open episode by another window. @param window seconds */
export async function prolong(queryable: Queryable, name: string, window: number): Promise<void> {
  await queryable.query(CONTINUE, [name, window]);
}
