// SQL of the counts of objectives: a row for each day, process and objective.
import { deleteOldest } from '../../platform/database/deletion.ts';
import { done, many } from '../../platform/database/statements.ts';
import { batchOf } from '../../platform/database/table.ts';
import type { Queryable } from '../../platform/database/transaction.ts';
import type { Objective, ObjectiveCount, ObjectiveCounts } from '../../platform/metrics/objectives.ts';
import { OBJECTIVE_COUNT } from './objective.model.ts';

/** Whole UTC days beside today that `sum` adds up, and after which rows are deleted. */
const SHOWN_DAYS = 29;
const KEPT_DAYS = 35;

const ROWS = batchOf(OBJECTIVE_COUNT, ['objective', 'good', 'total']);

const add = done<[day: string, process: string, ...counts: unknown[]]>(`
INSERT INTO objective_counts (day, process, objective, good, total)
SELECT $1::date, $2::uuid, objective, good, total FROM ${ROWS.from('counted', 3)} WHERE total > 0
ON CONFLICT (day, process, objective) DO UPDATE SET good = excluded.good, total = excluded.total`);

const sumRows = many<ObjectiveCount & { objective: Objective }>(`
SELECT objective, sum(good)::float8 AS good, sum(total)::float8 AS total FROM objective_counts
WHERE day >= (now() AT TIME ZONE 'UTC')::date - ${SHOWN_DAYS} GROUP BY objective`);

/** Writes what a process has counted of a day: all of it, so that a repetition changes nothing. */
export const keep = (
  queryable: Queryable,
  day: string,
  process: string,
  counts: ObjectiveCounts,
): Promise<void> =>
  add(
    queryable,
    day,
    process,
    ...ROWS.of(Object.entries(counts).map(([objective, count]) => ({ objective, ...count }))),
  );

/** Adds up all processes, over today and the 29 days before it. */
export const sum = async (queryable: Queryable): Promise<Map<Objective, ObjectiveCount>> =>
  new Map((await sumRows(queryable)).map(({ objective, ...count }) => [objective, count]));

/** Deletes counts of more than 35 days ago. @returns how many, at most `limit` */
export const purge = deleteOldest('objective_counts', {
  key: ['day', 'process', 'objective'],
  old: `day < (now() AT TIME ZONE 'UTC')::date - ${KEPT_DAYS}`,
  by: 'day',
});
