// SQL of the record of a 2xx, for many deliveries in one statement.
import { boundsOf } from '../../platform/database/partitions.ts';
import type { Queryable } from '../../platform/database/transaction.ts';
import { deliver } from '../rows/delivery-row.ts';
import { dropFirst } from '../rows/outbox.ts';
import type { AttemptReport } from './attempt.ts';

/** A POST with a 2xx. `workflow` is the generation of the workflow that made it; null for a relay. */
export type DeliveredRecord = {
  readonly report: AttemptReport;
  readonly tenantId: string;
  readonly subscriptionId: string;
  readonly workflow: number | null;
};

/** The attempt number; `parked`: a relay made the attempt although a workflow waits for the endpoint. */
export type RecordedDelivery = { readonly n: number; readonly parked: boolean };

/** The columns of a POST, in the order of both statements that insert one. */
export const ATTEMPT_COLUMNS = `(delivery_id, n, tenant_id, subscription_id, generation, probe, started_at, duration_ms, phases,
  status_code, outcome, error, retry_after_seconds, response_excerpt)`;

const SAME_POST = 'attempts.generation = excluded.generation AND attempts.started_at = excluded.started_at';

// The only statement that records a 2xx of an endpoint without failures. Its commit does not wait for the disk, because
// a success that is lost in a crash of the database is an attempt repeated. It also deletes the outbox row of a first
// attempt of a relay; the row has the delivery's id. Deliveries are locked in id order, as in all statements that lock
// several. The bounds of the ids ($14, $15) let it open only their partitions. An attempt is missing in the result when
// another POST took its number concurrently.
const RECORD_DELIVERED = `
WITH unflushed AS (
  SELECT set_config('synchronous_commit', 'off', true)
), input AS (
  SELECT i.* FROM unflushed CROSS JOIN unnest($1::uuid[], $2::int[], $3::uuid[], $4::uuid[], $5::int[], $6::boolean[], $7::timestamptz[], $8::int[], $9::jsonb[],
    $10::int[], $11::int[], $12::text[], $13::int[])
    AS i (delivery_id, n, tenant_id, subscription_id, generation, probe, started_at, duration_ms, phases,
      status_code, retry_after_seconds, response_excerpt, workflow)
), attempt AS (
  INSERT INTO attempts ${ATTEMPT_COLUMNS}
  SELECT delivery_id, numbered.n, tenant_id, subscription_id, generation, probe, started_at, duration_ms, phases, status_code,
    'delivered', NULL, retry_after_seconds, response_excerpt
  FROM input i CROSS JOIN LATERAL (
    SELECT coalesce(max(a.n) FILTER (WHERE a.generation = i.generation AND a.started_at = i.started_at),
      CASE WHEN bool_or(a.n = i.n) THEN max(a.n) + 1 ELSE least(i.n, coalesce(max(a.n), 0) + 1) END) AS n
    FROM attempts a WHERE a.delivery_id = i.delivery_id AND a.delivery_id BETWEEN $14 AND $15) AS numbered
  ORDER BY delivery_id
  ON CONFLICT (delivery_id, n) DO UPDATE SET probe = excluded.probe, duration_ms = excluded.duration_ms, phases = excluded.phases,
    status_code = excluded.status_code, outcome = excluded.outcome, error = excluded.error,
    retry_after_seconds = excluded.retry_after_seconds, response_excerpt = excluded.response_excerpt, recorded_at = now()
  WHERE ${SAME_POST}
  RETURNING delivery_id, n
), locked AS (
  SELECT d.id, a.n, i.status_code, i.workflow, d.waiting_epoch
  FROM attempt a JOIN input i ON i.delivery_id = a.delivery_id
  JOIN deliveries d ON d.id = ANY($1::uuid[]) AND d.id BETWEEN $14 AND $15 AND d.id = a.delivery_id
  ORDER BY d.id FOR UPDATE OF d
), delivered AS (
  ${deliver('locked', 'd.id = ANY($1::uuid[]) AND d.id BETWEEN $14 AND $15')}
), handed_over AS (
  ${dropFirst('locked')}
)
SELECT a.delivery_id AS "deliveryId", a.n, l.workflow IS NULL AND l.waiting_epoch IS NOT NULL AS parked
FROM attempt a LEFT JOIN locked l ON l.id = a.delivery_id`;

/**
 * Records POSTs of different deliveries that were answered with 2xx. A 2xx wins over an earlier record of its POST.
 * @returns the results in the same order; undefined where another POST took the number concurrently: the caller
 *   repeats those
 */
export async function recordDelivered(
  queryable: Queryable,
  successes: readonly DeliveredRecord[],
): Promise<(RecordedDelivery | undefined)[]> {
  const reports = successes.map(({ report }) => report);
  const ids = reports.map(({ deliveryId }) => deliveryId);
  const { rows } = await queryable.query<RecordedDelivery & { deliveryId: string }>(RECORD_DELIVERED, [
    ids,
    reports.map(({ n }) => n),
    successes.map(({ tenantId }) => tenantId),
    successes.map(({ subscriptionId }) => subscriptionId),
    reports.map(({ generation }) => generation),
    reports.map(({ probe }) => probe),
    reports.map(({ startedAt }) => startedAt),
    reports.map(({ durationMs }) => durationMs),
    reports.map(({ phases }) => JSON.stringify(phases)),
    reports.map(({ outcome }) => outcome.statusCode),
    reports.map(({ retryAfterSeconds }) => retryAfterSeconds),
    reports.map(({ responseExcerpt }) => responseExcerpt ?? null),
    successes.map(({ workflow }) => workflow),
    ...boundsOf(ids),
  ]);
  const recorded = new Map(rows.map(({ deliveryId, n, parked }) => [deliveryId, { n, parked }]));
  return reports.map(({ deliveryId }) => recorded.get(deliveryId));
}
