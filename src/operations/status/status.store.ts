// SQL of `countersign status`: the processes that have shown lately that they live, and what failed for good.
import type { Queryable } from '../../platform/database/transaction.ts';
import type { Failed, FailedGroup } from './status.ts';

const LIVING = `
SELECT role, count(*)::int AS count, min(started_at) AS since FROM relays
WHERE seen_at > now() - interval '10 seconds' GROUP BY role ORDER BY role`;

export async function listProcesses(queryable: Queryable) {
  const { rows } = await queryable.query<{ role: string; count: number; since: Date }>(LIVING);
  return rows;
}

const FAILED = `
SELECT s.url, coalesce(d.last_error, 'http:' || d.last_status_code, 'unknown') AS answer, count(*)::int AS count, sum(count(*)) OVER ()::int AS total
FROM deliveries d JOIN subscriptions s ON s.id = d.subscription_id
WHERE d.status = 'failed' AND d.completed_at > now() - interval '24 hours'
GROUP BY 1, 2 ORDER BY count(*) DESC, 1, 2 LIMIT $1`;

/** Counts the deliveries that failed for good in 24 hours, by endpoint and last answer, the most first. */
export async function countFailed(queryable: Queryable, most: number): Promise<Failed> {
  const { rows } = await queryable.query<FailedGroup & { total: number }>(FAILED, [most]);
  return {
    total: rows[0]?.total ?? 0,
    groups: rows.map(({ url, answer, count }) => ({ url, answer, count })),
  };
}
