// SQL of `countersign status`: the processes that have shown lately that they live.
import type { Queryable } from '../../platform/database/transaction.ts';

const LIVING = `
SELECT role, count(*)::int AS count, min(started_at) AS since FROM relays
WHERE seen_at > now() - interval '10 seconds' GROUP BY role ORDER BY role`;

export async function listProcesses(queryable: Queryable) {
  const { rows } = await queryable.query<{ role: string; count: number; since: Date }>(LIVING);
  return rows;
}
