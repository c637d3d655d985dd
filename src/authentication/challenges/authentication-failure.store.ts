// SQL of the counters of failed authentications. The table is unlogged, so counting causes no disk flush. A crash of
// the database can lose a counter, which loses one event.
import { only } from '../../platform/database/statements.ts';

/** `untold`: failures without an event, set for the first failure of a window. */
export type FailureTally = { readonly untold: number | null };

/**
 * Counts one failure. `untold` includes this failure and the failures of the last window without an event.
 * @param name the name under which failures are counted @param window seconds
 */
// The reference to "before" makes Postgres read and lock the row before it changes the row. A new window needs the old
// value: the number of failures of the last window that no event contains.
export const count = only<FailureTally, [name: string, window: number]>(`
WITH clock AS (
  SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS ms
), before AS MATERIALIZED (
  SELECT points FROM rate_limits WHERE key = 'authentication_failure:' || $1 FOR UPDATE
), counted AS (
  INSERT INTO rate_limits AS r (key, points, expire)
  SELECT 'authentication_failure:' || $1, 1, ms + $2::bigint * 1000 FROM clock WHERE (SELECT count(*) FROM before) >= 0
  ON CONFLICT (key) DO UPDATE SET
    points = CASE WHEN r.expire <= excluded.expire - $2::bigint * 1000 THEN 1 ELSE r.points + 1 END,
    expire = CASE WHEN r.expire <= excluded.expire - $2::bigint * 1000 THEN excluded.expire ELSE r.expire END
  RETURNING points
)
SELECT CASE WHEN points = 1 THEN coalesce((SELECT points FROM before), 1) END AS untold FROM counted`);
