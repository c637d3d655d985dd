// SQL of the table rate_limits, in which processes share their counts. Rows lost in a crash cost one window of a limit.
import { columnsOf } from '../columns.ts';
import { deleteOldest } from '../database/deletion.ts';
import { many } from '../database/statements.ts';
import type { Queryable } from '../database/transaction.ts';

/** The points that one process admitted for a key and has not shared yet; `milliseconds` until the window ends. */
export type Admitted = { readonly key: string; readonly count: number; readonly milliseconds: number };

/** The sum of all processes for a key; `milliseconds` until the window ends. */
export type SharedCount = { readonly count: number; readonly milliseconds: number };

const ADMITTED = columnsOf<Admitted>(
  { text: ['key'], int: ['count'] },
  { milliseconds: ['bigint', ({ milliseconds }) => Math.round(milliseconds)] },
);

// Rows are written in the order of their keys, so that two processes never deadlock. A repeated key becomes one row.
const addAll = many<SharedCount & { readonly key: string }, unknown[]>(`
WITH clock AS MATERIALIZED (
  SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS ms
), added AS (
  INSERT INTO rate_limits AS r (key, points, expire)
  SELECT key, sum(count)::int, max(ms) + max(milliseconds)
  FROM clock, ${ADMITTED.from('given')}
  GROUP BY key ORDER BY key
  ON CONFLICT (key) DO UPDATE SET
    points = CASE WHEN r.expire <= (SELECT ms FROM clock) THEN excluded.points
                  ELSE least(r.points::bigint + excluded.points, 2147483647)::int END,
    expire = CASE WHEN r.expire <= (SELECT ms FROM clock) THEN excluded.expire ELSE r.expire END
  RETURNING key, points, expire
)
SELECT key, points AS count, expire - ms AS milliseconds FROM added, clock`);

/** Adds to the counts in one round trip, and begins missing windows. @returns the counts, in the order of `batch` */
export async function add(queryable: Queryable, batch: readonly Admitted[]): Promise<SharedCount[]> {
  const found = new Map((await addAll(queryable, ...ADMITTED.of(batch))).map((row) => [row.key, row]));
  return batch.map(({ key }) => {
    const row = found.get(key);
    if (row === undefined) throw new Error('counting returned nothing for a key');
    return row;
  });
}

/** Deletes counts whose window ended an hour ago. @returns how many, at most `limit` */
export const purge = deleteOldest('rate_limits', {
  key: ['key'],
  old: `expire < (extract(epoch FROM now() - interval '1 hour') * 1000)::bigint`,
  by: 'expire',
});
