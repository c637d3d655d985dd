// SQL of the counts of objectives: a row for each day, process and objective.
import { columnsOf } from '../../platform/columns.ts';
import { deleteOldest } from '../../platform/database/deletion.ts';
import type { Queryable } from '../../platform/database/transaction.ts';
import type { Objective, ObjectiveCount, ObjectiveCounts } from '../../platform/metrics/objectives.ts';

/** Whole UTC days beside today that `sum` adds up, and after which rows are deleted. */
const SHOWN_DAYS = 29;
const KEPT_DAYS = 35;

type Row = ObjectiveCount & { readonly objective: string };

const ROWS = columnsOf<Row>({ text: ['objective'], bigint: ['good', 'total'] });

const KEEP = `
INSERT INTO objective_counts (day, process, objective, good, total)
SELECT $1::date, $2::uuid, objective, good, total FROM ${ROWS.from('counted', 3)} WHERE total > 0
ON CONFLICT (day, process, objective) DO UPDATE SET good = excluded.good, total = excluded.total`;

const SUM = `
SELECT objective, sum(good)::float8 AS good, sum(total)::float8 AS total FROM objective_counts
WHERE day >= (now() AT TIME ZONE 'UTC')::date - ${SHOWN_DAYS} GROUP BY objective`;

/** Writes what a process has counted of a day: all of it, so that a repetition changes nothing. */
export async function keep(
  queryable: Queryable,
  { day, process, counts }: { day: string; process: string; counts: ObjectiveCounts },
): Promise<void> {
  const rows = Object.entries(counts).map(([objective, count]) => ({ objective, ...count }));
  await queryable.query(KEEP, [day, process, ...ROWS.of(rows)]);
}

/** Adds up all processes, over today and the 29 days before it. */
export async function sum(queryable: Queryable): Promise<Map<Objective, ObjectiveCount>> {
  const { rows } = await queryable.query<ObjectiveCount & { objective: Objective }>(SUM);
  return new Map(rows.map(({ objective, good, total }) => [objective, { good, total }]));
}

/** Deletes counts of more than 35 days ago. @returns how many, at most `limit` */
export const purge = deleteOldest('objective_counts', {
  key: ['day', 'process', 'objective'],
  old: `day < (now() AT TIME ZONE 'UTC')::date - ${KEPT_DAYS}`,
  by: 'day',
});
