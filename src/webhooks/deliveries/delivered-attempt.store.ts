// SQL that inserts attempts, and the record of a 2xx for many deliveries in one statement.
import { columnsOf, isAmong } from '../../platform/columns.ts';
import { boundsOf } from '../../platform/database/partitions.ts';
import { many } from '../../platform/database/statements.ts';
import type { Queryable } from '../../platform/database/transaction.ts';
import { deliver } from '../rows/delivery-row.ts';
import { dropFirst } from '../rows/outbox.ts';
import type { AttemptRow } from './attempt.model.ts';
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

/** A POST that was made, and whose it is. */
export type MadeAttempt = Omit<DeliveredRecord, 'workflow'>;

const ATTEMPT = columnsOf<MadeAttempt>(
  {},
  {
    delivery_id: ['uuid', ({ report }) => report.deliveryId],
    tenant_id: ['uuid', ({ tenantId }) => tenantId],
    subscription_id: ['uuid', ({ subscriptionId }) => subscriptionId],
    generation: ['int', ({ report }) => report.generation],
    probe: ['boolean', ({ report }) => report.probe],
    started_at: ['timestamptz', ({ report }) => report.startedAt],
    duration_ms: ['int', ({ report }) => report.durationMs],
    phases: ['jsonb', ({ report }) => JSON.stringify(report.phases)],
    status_code: ['int', ({ report }) => report.outcome.statusCode],
    outcome: ['text', ({ report }) => report.outcome.kind],
    error: ['text', ({ report: { outcome } }) => (outcome.kind === 'delivered' ? null : outcome.error)],
    retry_after_seconds: ['int', ({ report }) => report.retryAfterSeconds],
    response_excerpt: ['text', ({ report }) => report.responseExcerpt],
  },
);

/** The parameters of the texts below: the bounds of the ids, which open only their partitions, and the columns. */
const valuesOf = (made: readonly MadeAttempt[]): Columns => [
  ...boundsOf(made.map(({ report }) => report.deliveryId)),
  ...ATTEMPT.of(made),
  made.map(({ report }) => report.n),
];

// Chooses the attempt number. A POST that was recorded before keeps its number. A new POST gets the number it was made
// under, or the next free number when another POST has taken it, or when a restored database has forgotten attempts.
const numbered = (input: string) => `
input AS (${input}), numbered AS (
  SELECT i.*, (
    SELECT coalesce(max(a.n) FILTER (WHERE a.generation = i.generation AND a.started_at = i.started_at),
      CASE WHEN bool_or(a.n = i.wanted) THEN max(a.n) + 1 ELSE least(i.wanted, coalesce(max(a.n), 0) + 1) END)
    FROM attempts a WHERE a.delivery_id = i.delivery_id AND a.delivery_id BETWEEN $1 AND $2) AS n
  FROM input i
)`;

const INSERT = `
INSERT INTO attempts (n, ${ATTEMPT.names})
SELECT n, ${ATTEMPT.names} FROM numbered ORDER BY delivery_id
ON CONFLICT (delivery_id, n)`;

type Columns = [least: string, greatest: string, ...columns: unknown[][]];

const insertAll = many<Pick<AttemptRow, 'deliveryId' | 'n'>, Columns>(`
WITH ${numbered(`SELECT * FROM ${ATTEMPT.from('i', 3, { wanted: 'int' })}`)} ${INSERT} DO NOTHING
RETURNING delivery_id, n`);

const WITHIN = 'd.id = ANY($3::uuid[]) AND d.id BETWEEN $1 AND $2';

const SAME_POST = 'attempts.generation = excluded.generation AND attempts.started_at = excluded.started_at';

// The only statement that records a 2xx of an endpoint without failures. Its commit does not wait for the disk, because
// a success that is lost in a crash of the database is an attempt repeated. It also deletes the outbox row of a first
// attempt of a relay. Deliveries are locked in id order, as in all statements that lock several. An attempt is missing
// in the result when another POST took its number concurrently.
const recordAll = many<RecordedDelivery & { readonly deliveryId: string }, Columns>(`
WITH unflushed AS (
  SELECT set_config('synchronous_commit', 'off', true)
), ${numbered(`SELECT i.* FROM unflushed CROSS JOIN ${ATTEMPT.from('i', 3, { wanted: 'int', workflow: 'int' })}`)}, attempt AS (
  ${INSERT} DO UPDATE SET probe = excluded.probe, duration_ms = excluded.duration_ms, phases = excluded.phases,
    status_code = excluded.status_code, outcome = excluded.outcome, error = excluded.error,
    retry_after_seconds = excluded.retry_after_seconds, response_excerpt = excluded.response_excerpt, recorded_at = now()
  WHERE ${SAME_POST}
  RETURNING delivery_id
), locked AS (
  SELECT d.id, i.n, i.status_code, i.workflow, d.waiting_epoch
  FROM numbered i JOIN deliveries d ON ${WITHIN} AND d.id = i.delivery_id
  WHERE ${isAmong('i.delivery_id', 'attempt', 'delivery_id')}
  ORDER BY d.id FOR UPDATE OF d
), delivered AS (
  ${deliver('locked', WITHIN)}
), handed_over AS (
  ${dropFirst('locked')}
)
SELECT delivery_id, n,
  workflow IS NULL AND ${isAmong('delivery_id', '(SELECT id FROM locked WHERE waiting_epoch IS NOT NULL) AS parked', 'id')} AS parked
FROM numbered WHERE ${isAmong('delivery_id', 'attempt')}`);

/**
 * Inserts the rows of POSTs of different deliveries, unless they were recorded before.
 * @returns delivery → number; none where a row has that number
 */
export async function insertNumbered(
  unit: Queryable,
  made: readonly MadeAttempt[],
): Promise<ReadonlyMap<string, number>> {
  const rows = await insertAll(unit, ...valuesOf(made));
  return new Map(rows.map(({ deliveryId, n }) => [deliveryId, n]));
}

/**
 * Records POSTs of different deliveries that were answered with 2xx. A 2xx wins over an earlier record of its POST.
 * @returns the results in the same order; undefined where another POST took the number concurrently: the caller
 *   repeats those
 */
export async function recordDelivered(
  queryable: Queryable,
  successes: readonly DeliveredRecord[],
): Promise<(RecordedDelivery | undefined)[]> {
  const workflows = successes.map(({ workflow }) => workflow);
  const rows = await recordAll(queryable, ...valuesOf(successes), workflows);
  const recorded = new Map(rows.map(({ deliveryId, n, parked }) => [deliveryId, { n, parked }]));
  return successes.map(({ report }) => recorded.get(report.deliveryId));
}
