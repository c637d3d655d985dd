// SQL of brute force episodes, in the table rate_limits. A crash of the database can lose a row, which loses one event.
import { done, only } from '../platform/database/statements.ts';

/** `failures`: number in the current window. `isNew`: true for exactly the failure that began an episode. */
export type EpisodeTally = { readonly failures: number; readonly isNew: boolean };

/**
 * Counts a failure. The failure number `threshold` within a window begins an episode when none is open. A failure
 * during an open episode extends it.
 * @param window seconds
 */
export const count = only<EpisodeTally, [name: string, window: number, threshold: number]>(`
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
SELECT points AS failures, EXISTS (SELECT FROM begun) AS is_new FROM counted`);

/** Extends the open episode by another window. @param window seconds */
export const prolong = done<[name: string, window: number]>(`
UPDATE rate_limits SET expire = ms + $2::bigint * 1000
FROM (SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS ms) AS clock
WHERE key = 'episode:' || $1 AND expire > ms`);
