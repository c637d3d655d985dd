// Keeps the day partitions of the big tables made ahead of time. It must never drop one: that is retention's work.
import type { Queryable } from './transaction.ts';

const PARTITIONED = ['events', 'deliveries', 'attempts'] as const;

/** Days whose partitions exist ahead of today. */
const DAYS_AHEAD = 7;

/**
 * Makes the partitions from yesterday until a week ahead, where they are missing.
 * @returns how many were made
 */
export async function ensurePartitions(database: Queryable): Promise<number> {
  const { rows } = await database.query<{ made: number }>(
    `SELECT count(*) FILTER (WHERE ensure_day_partition(parent, day::date))::int AS made
     FROM unnest($1::text[]) AS parent,
          generate_series((now() AT TIME ZONE 'UTC')::date - 1, (now() AT TIME ZONE 'UTC')::date + $2::int, interval '1 day') AS day`,
    [PARTITIONED, DAYS_AHEAD],
  );
  return rows[0]?.made ?? 0;
}
