// SQL of attempts: reads the data of a POST, records attempts, and parks deliveries. To prevent deadlocks, all
// statements lock rows in this order: attempt, subscription, endpoint, delivery. A POST is identified by its delivery,
// generation and start time; it gets its attempt number when it is recorded.
import { boundsOf } from '../../platform/database/partitions.ts';
import type { Queryable, Transaction } from '../../platform/database/transaction.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import { RENEWED_AFTER } from '../endpoints/endpoint-health.store.ts';
import { PROVEN_FOR_MS } from '../endpoints/endpoint-judgement.ts';
import { FAST_MS } from '../endpoints/endpoint-speed.ts';
import { OWN_WORKFLOW } from '../rows/delivery-row.ts';
import { insertNumbered, type MadeAttempt } from './delivered-attempt.store.ts';
import type { StoredStatus } from './delivery.ts';
import type { Envelope } from './envelope.ts';

export {
  type DeliveredRecord,
  type MadeAttempt,
  type RecordedDelivery,
  recordDelivered,
} from './delivered-attempt.store.ts';

/**
 * The data of a POST, read in one snapshot. `dueInMs` is null when the row has no time for the next attempt. `recorded`
 * is true when this generation has already recorded attempt `n` or a later one.
 */
export type LoadedDelivery = {
  readonly tenantId: string;
  readonly subscriptionId: string;
  readonly eventType: string;
  readonly test: boolean;
  readonly status: StoredStatus;
  readonly generation: number;
  readonly attemptCount: number;
  readonly dueInMs: number | null;
  /** Milliseconds since the attempt was due; negative before that. */
  readonly lateMs: number | null;
  readonly createdAt: Date;
  readonly retryRequested: boolean;
  readonly ownWorkflow: boolean;
  readonly lastOutcome: string | null;
  readonly recorded: boolean;
  /** By the database's clock. */
  readonly loadedAt: Date;
  /** The same moment by the monotonic clock of this process, in milliseconds. */
  readonly readAt: number;
  readonly endpointOpen: boolean;
  readonly endpointDeleted: boolean;
  /**
   * The endpoint has failed, is paced or is not open, so a success must update its row. So does one of a retry when the
   * row has noted none for a while.
   */
  readonly endpointFailing: boolean;
  /** The endpoint has taken a retry lately: a failed first attempt says nothing of it. */
  readonly endpointProven?: boolean | undefined;
  /** The endpoint has worked, quickly and without a limit, since the delivery was accepted. */
  readonly endpointSteady: boolean;
  readonly endpointDown: boolean;
  /** The endpoint recovers: the relay lets its attempts begin one by one. */
  readonly endpointPaced: boolean;
  readonly endpointRated: boolean;
  readonly endpointCap: number;
  readonly endpointEpoch: number;
  readonly body: Buffer | null;
  readonly envelope: Envelope;
  readonly url: string;
  readonly maxAge: number;
  readonly secretSealed: Buffer;
  readonly nextSecretSealed: Buffer | null;
  readonly overlapEnded: boolean;
  /** `aud` of the security event tokens that the subscription gets instead of bodies; null when it is no stream. */
  readonly streamAudience: string | null;
  readonly headersSealed: Buffer | null;
  readonly signatures: readonly string[];
};

export type LockedDelivery = Pick<
  LoadedDelivery,
  'tenantId' | 'subscriptionId' | 'eventType' | 'test' | 'status' | 'generation' | 'attemptCount'
> & {
  readonly id: string;
  readonly eventId: string;
  readonly failedAttempts: number;
  readonly retryRequestedAt: Date | null;
  readonly dueInMs: number | null;
  readonly retryPolicy: unknown;
  readonly ownWorkflow: boolean;
};

/** An endpoint whose row is locked: it stays open or closed until the transaction ends. */
export type LockedEndpoint = {
  readonly open: boolean;
  readonly paced: boolean;
  readonly rated: boolean;
  readonly deleted: boolean;
  readonly epoch: number;
};

// Milliseconds until the next attempt is due, rounded up so that the attempt does not begin early.
const DUE =
  'greatest(0, ceil(extract(epoch FROM d.next_attempt_at - clock_timestamp()) * 1000))::float8 AS "dueInMs"';

const LATE = 'extract(epoch FROM clock_timestamp() - d.next_attempt_at)::float8 * 1000 AS "lateMs"';

/**
 * What a send needs of the rows d (deliveries), p (endpoints) and s (subscriptions), beside the delivery's state and
 * the body: a claim of first attempts reads it too, so that no second statement has to.
 */
export const LOADED_COLUMNS = `d.subscription_id AS "subscriptionId", d.test, s.envelope, ${DUE}, ${LATE}, d.created_at AS "createdAt",
  d.retry_requested_at IS NOT NULL AS "retryRequested", coalesce(d.last_error, 'http:' || d.last_status_code) AS "lastOutcome",
  now()::timestamptz(3) AS "loadedAt",
  endpoint_is_open(p) AS "endpointOpen", p.deleted AS "endpointDeleted", p.state = 'down' AS "endpointDown",
  p.permits IS NOT NULL AS "endpointPaced", p.rate IS NOT NULL AS "endpointRated", p.in_flight_cap AS "endpointCap",
  p.epoch AS "endpointEpoch", p.failures_in_a_row > 0 OR p.permits IS NOT NULL OR p.state <> 'open'
    OR d.attempt_count > 0 AND coalesce(p.recovered_at < now() - ${RENEWED_AFTER}, false) AS "endpointFailing",
  coalesce(p.permits IS NULL AND p.state = 'open' AND p.recovered_at > now() - interval '${PROVEN_FOR_MS} milliseconds', false) AS "endpointProven",
  endpoint_is_open(p) AND p.state = 'open' AND p.failures_in_a_row = 0 AND p.permits IS NULL AND p.rate IS NULL
    AND coalesce(p.p90_ms, 0) < ${FAST_MS} AND p.updated_at <= d.created_at AS "endpointSteady",
  s.url, s.max_age AS "maxAge", s.secret_sealed AS "secretSealed", s.next_secret_sealed AS "nextSecretSealed",
  s.headers_sealed AS "headersSealed", s.signatures, coalesce(s.secret_overlap_ends_at <= now(), false) AS "overlapEnded",
  s.stream_audience AS "streamAudience"`;

// OFFSET 0 makes each join one index lookup a row, in the one partition that its id names: the planner, which does not
// know how few rows there are, would read whole partitions.
const LOAD = `
SELECT w.place, d.tenant_id AS "tenantId", d.status, d.generation, d.attempt_count AS "attemptCount", d.event_type AS "eventType",
  EXISTS (SELECT 1 FROM attempts a WHERE a.delivery_id = w.id AND a.delivery_id BETWEEN $4 AND $5
    AND a.n >= w.n AND a.generation = w.generation) AS recorded,
  ${OWN_WORKFLOW} AS "ownWorkflow", e.body, ${LOADED_COLUMNS}
FROM unnest($1::uuid[], $2::int[], $3::int[]) WITH ORDINALITY AS w (id, n, generation, place)
CROSS JOIN LATERAL (
  SELECT * FROM deliveries WHERE deliveries.id = w.id AND deliveries.id BETWEEN $4 AND $5 OFFSET 0) AS d
JOIN endpoints p ON p.subscription_id = d.subscription_id
JOIN subscriptions s ON s.id = d.subscription_id
LEFT JOIN LATERAL (SELECT body FROM events WHERE events.id = d.event_row OFFSET 0) AS e ON true`;

const FIND_POST = `
SELECT n FROM attempts WHERE delivery_id = $1 AND generation = $2 AND started_at = $3::timestamptz`;

/** How often a number is chosen again when other POSTs of the same delivery are recorded concurrently. */
const MOST_TRIES = 10;

const LOCK = `
SELECT d.id, d.tenant_id AS "tenantId", d.subscription_id AS "subscriptionId", d.event_id AS "eventId", d.event_type AS "eventType", d.test,
  d.status, d.generation, d.attempt_count AS "attemptCount", d.failed_attempts AS "failedAttempts",
  d.retry_requested_at AS "retryRequestedAt", ${OWN_WORKFLOW} AS "ownWorkflow", ${DUE}, s.retry_policy AS "retryPolicy"
FROM deliveries d JOIN subscriptions s ON s.id = d.subscription_id
WHERE d.id = ANY($1::uuid[]) AND d.id BETWEEN $2 AND $3 ORDER BY d.id FOR UPDATE OF d`;

/** Reads the deliveries of these requests, in the same order; undefined where the delivery no longer exists. */
export async function load(
  queryable: Queryable,
  requests: readonly { deliveryId: string; n: number; generation: number }[],
): Promise<(LoadedDelivery | undefined)[]> {
  const ids = requests.map(({ deliveryId }) => deliveryId);
  const { rows } = await queryable.query<Omit<LoadedDelivery, 'readAt'> & { place: number }>(LOAD, [
    ids,
    requests.map(({ n }) => n),
    requests.map(({ generation }) => generation),
    ...boundsOf(ids),
  ]);
  const readAt = performance.now();
  const found = new Map(rows.map((row) => [Number(row.place), { ...row, readAt }]));
  return requests.map((_, index) => found.get(index + 1));
}

/**
 * Inserts the rows of POSTs of different deliveries, unless they were recorded before.
 * @returns the attempt numbers in the same order, `fresh` for a new row; undefined where another POST took the number
 *   concurrently: the caller repeats those
 */
export async function insertAttempts(
  unit: Transaction,
  made: readonly MadeAttempt[],
): Promise<({ n: number; fresh: boolean } | undefined)[]> {
  const numbers = await insertNumbered(unit, made);
  const results: ({ n: number; fresh: boolean } | undefined)[] = [];
  for (const { report } of made) {
    const n = numbers.get(report.deliveryId);
    if (n !== undefined) results.push({ n, fresh: true });
    else {
      const { deliveryId, generation, startedAt } = report;
      const before = await unit.query<{ n: number }>(FIND_POST, [deliveryId, generation, startedAt]);
      results.push(before.rows[0] && { n: before.rows[0].n, fresh: false });
    }
  }
  return results;
}

/** Locks deliveries in id order. @returns id → delivery; none where it no longer exists */
export async function lock(
  unit: Transaction,
  ids: readonly string[],
): Promise<ReadonlyMap<string, LockedDelivery>> {
  const { rows } = await unit.query<LockedDelivery>(LOCK, [ids, ...boundsOf(ids)]);
  return new Map(rows.map((row) => [row.id, row]));
}

/** Reads an endpoint with a shared lock, so that it cannot be opened or closed until the transaction ends. */
export async function shareEndpoint(
  unit: Transaction,
  subscriptionId: string,
): Promise<LockedEndpoint | undefined> {
  const { rows } = await unit.query<LockedEndpoint>(
    `SELECT endpoint_is_open(p) AS open, p.permits IS NOT NULL AS paced, p.rate IS NOT NULL AS rated, p.deleted, p.epoch
         FROM endpoints p WHERE p.subscription_id = $1 FOR SHARE`,
    [subscriptionId],
  );
  return rows[0];
}

/** Reads the subscription's URL. @param lock of the subscription's row until the transaction ends */
export async function readUrl(
  unit: Transaction,
  subscriptionId: string,
  lock: 'FOR SHARE' | 'FOR NO KEY UPDATE',
): Promise<string | undefined> {
  const text = `SELECT url FROM subscriptions WHERE id = $1 ${lock}`;
  return (await unit.query<{ url: string }>(text, [subscriptionId])).rows[0]?.url;
}

/** Repeats a record until no other POST has taken its number, at most `MOST_TRIES` times. */
export async function numbered<T>(record: () => Promise<T | undefined>): Promise<T> {
  for (let tries = 0; tries < MOST_TRIES; tries += 1) {
    const result = await record();
    if (result !== undefined) return result;
  }
  throw new ServiceError('temporarily_unavailable', { detail: 'The attempt found no number of its own.' });
}
