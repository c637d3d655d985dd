// SQL of the counters of failed authentications. They live in an unlogged table: losing one in a crash costs one event, counting one costs no disk flush.
import type { Queryable } from '../../platform/database/transaction.ts';

/** `failures`: in the current window, this one included. `untold`: since the last telling, set on the first of a window. */
export type FailureTally = { readonly failures: number; readonly untold: number | null };

// The row is read and locked before it is changed, which the condition on "before" makes sure of: a window that begins must
// know how many failures the last one left untold.
const COUNT = `
WITH clock AS (
  SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS ms
), before AS MATERIALIZED (
  SELECT points FROM rate_limits WHERE key = $1 FOR UPDATE
), counted AS (
  INSERT INTO rate_limits AS r (key, points, expire)
  SELECT $1, 1, ms + $2::bigint * 1000 FROM clock WHERE (SELECT count(*) FROM before) >= 0
  ON CONFLICT (key) DO UPDATE SET
    points = CASE WHEN r.expire <= excluded.expire - $2::bigint * 1000 THEN 1 ELSE r.points + 1 END,
    expire = CASE WHEN r.expire <= excluded.expire - $2::bigint * 1000 THEN excluded.expire ELSE r.expire END
  RETURNING points
)
SELECT points AS failures, CASE WHEN points = 1 THEN coalesce((SELECT points FROM before), 1) END AS untold FROM counted`;

/**
 * Counts one failure.
 * @param name what is counted together @param window seconds
 * @returns the tally; `untold` counts this failure and those of the window before that were not told
 */
export async function count(queryable: Queryable, name: string, window: number): Promise<FailureTally> {
  const { rows } = await queryable.query<FailureTally>(COUNT, [`authentication_failure:${name}`, window]);
  const tally = rows[0];
  if (tally === undefined) throw new Error('counting a failure returned nothing');
  return tally;
}
