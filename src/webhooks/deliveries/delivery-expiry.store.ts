// SQL that cancels old deliveries, and deletes their rows that are in no daily partition.
import { keptFrom } from '../../platform/database/kept-days.ts';
import { boundsOf } from '../../platform/database/partitions.ts';
import { changed, counted, many } from '../../platform/database/statements.ts';
import type { Queryable } from '../../platform/database/transaction.ts';
import { endingStatement } from '../rows/delivery-row.ts';

const EXPIRED = 'expired';

/**
 * Cancels unfinished deliveries that are older than `days`, at most `limit`, and enqueues commands for their workflows.
 * @returns the number of canceled deliveries of each tenant
 */
export const expire = many<
  { readonly tenantId: string; readonly count: number },
  [days: number, limit: number]
>(
  endingStatement({
    // The order is that of the index of unfinished deliveries, so that few rows of each partition are read.
    target: `
  SELECT id FROM deliveries
  WHERE status IN ('pending', 'retrying') AND id < uuid_of_time(now() - $1::int * interval '1 day')
  ORDER BY subscription_id, id LIMIT $2 FOR UPDATE SKIP LOCKED`,
    more: `, last_error = '${EXPIRED}'`,
    answer: 'SELECT tenant_id, count(*)::int AS count FROM changed GROUP BY tenant_id',
  }),
);

/** For each table whose default partition may have rows, by the id column whose time decides their age. */
const PURGES = [
  ['deliveries', `id < $ AND status NOT IN ('pending', 'retrying')`],
  ['attempts', 'delivery_id < $'],
  ['events', 'id < $'],
].map(([table, old = '']) =>
  counted<[days: number, limit: number]>(`
DELETE FROM ${table}_default WHERE ctid IN (
  SELECT ctid FROM ${table}_default WHERE ${old.replace('$', `uuid_of_time(${keptFrom('$1')})`)} LIMIT $2)`),
);

/** Deletes rows of default partitions that are older than `days`. @returns how many, at most `limit` of each table */
export async function purgeSpare(queryable: Queryable, days: number, limit: number): Promise<number> {
  let removed = 0;
  for (const purge of PURGES) removed += await purge(queryable, days, limit);
  return removed;
}

const purgeWithin = changed<[ids: readonly string[], least: string, greatest: string]>(
  'DELETE FROM attempts WHERE delivery_id = ANY ($1::uuid[]) AND delivery_id BETWEEN $2 AND $3',
);

/** Deletes the attempts of deliveries. @param ids at least one */
export async function purgeAttempts(unit: Queryable, ids: readonly string[]): Promise<void> {
  await purgeWithin(unit, ids, ...boundsOf(ids));
}
