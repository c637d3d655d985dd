// SQL that cancels old deliveries, and deletes their rows that are in no daily partition.
import { keptFrom } from '../../platform/database/kept-days.ts';
import { boundsOf } from '../../platform/database/partitions.ts';
import type { Queryable } from '../../platform/database/transaction.ts';
import { endingStatement } from '../rows/delivery-row.ts';

const EXPIRED = 'expired';

// The order is that of the index of unfinished deliveries, so that the statement reads few rows of each partition.
const EXPIRE = endingStatement({
  target: `
  SELECT id FROM deliveries
  WHERE status IN ('pending', 'retrying') AND id < uuid_of_time(now() - $1::int * interval '1 day')
  ORDER BY subscription_id, id LIMIT $2 FOR UPDATE SKIP LOCKED`,
  more: `, last_error = '${EXPIRED}'`,
  answer: 'SELECT tenant_id AS "tenantId", count(*)::int AS count FROM changed GROUP BY tenant_id',
});

/** Tables whose default partition may have rows, each with the id column whose time decides their age. */
const SPARE = { deliveries: 'id', attempts: 'delivery_id', events: 'id' } as const;

/**
 * Cancels unfinished deliveries that are older than `days`, at most `limit`, and enqueues commands for their workflows.
 * @returns the number of canceled deliveries of each tenant
 */
export async function expire(
  unit: Queryable,
  days: number,
  limit: number,
): Promise<{ readonly tenantId: string; readonly count: number }[]> {
  return (await unit.query<{ tenantId: string; count: number }>(EXPIRE, [days, limit])).rows;
}

/** Deletes rows of default partitions that are older than `days`. @returns how many, at most `limit` of each table */
export async function purgeSpare(queryable: Queryable, days: number, limit: number): Promise<number> {
  let removed = 0;
  for (const [table, column] of Object.entries(SPARE)) {
    const ended = table === 'deliveries' ? `AND status NOT IN ('pending', 'retrying')` : '';
    const { rowCount } = await queryable.query(
      `DELETE FROM ${table}_default WHERE ctid IN (
             SELECT ctid FROM ${table}_default WHERE ${column} < uuid_of_time(${keptFrom('$1')}) ${ended} LIMIT $2)`,
      [days, limit],
    );
    removed += rowCount;
  }
  return removed;
}

/** Deletes the attempts of deliveries. @param ids at least one */
export async function purgeAttempts(unit: Queryable, ids: readonly string[]): Promise<void> {
  await unit.query(
    'DELETE FROM attempts WHERE delivery_id = ANY ($1::uuid[]) AND delivery_id BETWEEN $2 AND $3',
    [ids, ...boundsOf(ids)],
  );
}
