// SQL of the table rate_limits, in which processes share their counts. Rows lost in a crash cost one window of a limit.
import type { Queryable } from '../database/transaction.ts';

/** The points that one process admitted for a key and has not shared yet; `milliseconds` until the window ends. */
export type Admitted = { readonly key: string; readonly count: number; readonly milliseconds: number };

/** The sum of all processes for a key; `milliseconds` until the window ends. */
export type SharedCount = { readonly count: number; readonly milliseconds: number };

// Rows are written in the order of their keys, so that two processes never deadlock. A repeated key becomes one row.
const ADD = `
WITH clock AS MATERIALIZED (
  SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS ms
), added AS (
  INSERT INTO rate_limits AS r (key, points, expire)
  SELECT key, sum(count)::int, max(ms) + max(milliseconds)
  FROM clock, unnest($1::text[], $2::int[], $3::bigint[]) AS given (key, count, milliseconds)
  GROUP BY key ORDER BY key
  ON CONFLICT (key) DO UPDATE SET
    points = CASE WHEN r.expire <= (SELECT ms FROM clock) THEN excluded.points
                  ELSE least(r.points::bigint + excluded.points, 2147483647)::int END,
    expire = CASE WHEN r.expire <= (SELECT ms FROM clock) THEN excluded.expire ELSE r.expire END
  RETURNING key, points, expire
)
SELECT key, points AS count, expire - ms AS milliseconds FROM added, clock`;

/** Adds to the counts in one round trip, and begins missing windows. @returns the counts, in the order of `batch` */
export async function add(queryable: Queryable, batch: readonly Admitted[]): Promise<SharedCount[]> {
  const { rows } = await queryable.query<SharedCount & { readonly key: string }>(ADD, [
    batch.map(({ key }) => key),
    batch.map(({ count }) => count),
    batch.map(({ milliseconds }) => Math.round(milliseconds)),
  ]);
  const found = new Map(rows.map((row) => [row.key, row]));
  return batch.map(({ key }) => {
    const row = found.get(key);
    if (row === undefined) throw new Error('counting returned nothing for a key');
    return row;
  });
}

/** Deletes counts whose window ended an hour ago. @returns how many, at most `limit` */
export async function purge(queryable: Queryable, limit: number): Promise<number> {
  const { rowCount } = await queryable.query(
    `DELETE FROM rate_limits r USING (
           SELECT key FROM rate_limits WHERE expire < (extract(epoch FROM now() - interval '1 hour') * 1000)::bigint
           ORDER BY expire LIMIT $1 FOR UPDATE SKIP LOCKED
         ) AS old WHERE r.key = old.key`,
    [limit],
  );
  return rowCount;
}
