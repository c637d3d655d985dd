// SQL of attempts: reads the data of a POST, records attempts, and parks deliveries. To prevent deadlocks, all
// statements lock rows in this order: attempt, subscription, endpoint, delivery. A POST is identified by its delivery,
// generation and start time; it gets its attempt number when it is recorded.
import { boundsOf } from '../../platform/database/partitions.ts';
import { many, one } from '../../platform/database/statements.ts';
import type { Queryable, Transaction } from '../../platform/database/transaction.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import { RENEWED_AFTER } from '../endpoints/endpoint-health.store.ts';
import { PROVEN_FOR_MS } from '../endpoints/endpoint-judgement.ts';
import { FAST_MS } from '../endpoints/endpoint-speed.ts';
import type { DeliveryRow } from '../rows/delivery.model.ts';
import { OWN_WORKFLOW } from '../rows/delivery-row.ts';
import type { SubscriptionRow } from '../subscriptions/subscription.model.ts';
import { insertNumbered, type MadeAttempt } from './delivered-attempt.store.ts';

export {
  type DeliveredRecord,
  type MadeAttempt,
  type RecordedDelivery,
  recordDelivered,
} from './delivered-attempt.store.ts';

/** Of `RECEIVER_COLUMNS`. */
export type LoadedReceiver = Pick<
  SubscriptionRow,
  | 'envelope'
  | 'url'
  | 'maxAge'
  | 'secretSealed'
  | 'nextSecretSealed'
  | 'headersSealed'
  | 'signatures'
  | 'streamAudience'
> & {
  /** By the database's clock. */
  readonly loadedAt: Date;
  readonly endpointOpen: boolean;
  readonly endpointDeleted: boolean;
  /** The endpoint has taken a retry lately: a failed first attempt says nothing of it. */
  readonly endpointProven?: boolean | undefined;
  readonly endpointDown: boolean;
  /** The endpoint recovers: the relay lets its attempts begin one by one. */
  readonly endpointPaced: boolean;
  readonly endpointRated: boolean;
  readonly endpointCap: number;
  readonly endpointEpoch: number;
  readonly overlapEnded: boolean;
};

/**
 * The data of a POST, read in one snapshot. `dueInMs` is null when the row has no time for the next attempt. `recorded`
 * is true when this generation has already recorded attempt `n` or a later one.
 */
export type LoadedDelivery = LoadedReceiver &
  Pick<
    DeliveryRow,
    | 'tenantId'
    | 'subscriptionId'
    | 'eventType'
    | 'test'
    | 'status'
    | 'generation'
    | 'attemptCount'
    | 'createdAt'
  > & {
    readonly dueInMs: number | null;
    /** Milliseconds since the attempt was due; negative before that. */
    readonly lateMs: number | null;
    readonly retryRequested: boolean;
    readonly ownWorkflow: boolean;
    readonly lastOutcome: string | null;
    readonly recorded: boolean;
    /** The time of `loadedAt` by the monotonic clock of this process, in milliseconds. */
    readonly readAt: number;
    /**
     * The endpoint has failed, is paced or is not open, so a success must update its row. So does one of a retry when
     * the row has noted none for a while.
     */
    readonly endpointFailing: boolean;
    /** The endpoint has worked, quickly and without a limit, since the delivery was accepted. */
    readonly endpointSteady: boolean;
    readonly body: Buffer | null;
  };

export type LockedDelivery = Pick<
  DeliveryRow,
  | 'id'
  | 'tenantId'
  | 'subscriptionId'
  | 'eventId'
  | 'eventType'
  | 'test'
  | 'status'
  | 'generation'
  | 'attemptCount'
  | 'failedAttempts'
  | 'retryRequestedAt'
> &
  Pick<SubscriptionRow, 'retryPolicy'> &
  Pick<LoadedDelivery, 'dueInMs' | 'ownWorkflow'>;

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
  'greatest(0, ceil(extract(epoch FROM d.next_attempt_at - clock_timestamp()) * 1000))::float8 AS due_in_ms';

const LATE = 'extract(epoch FROM clock_timestamp() - d.next_attempt_at)::float8 * 1000 AS late_ms';

/** What a send needs of the rows p (endpoints) and s (subscriptions). */
export const RECEIVER_COLUMNS = `now()::timestamptz(3) AS loaded_at,
  endpoint_is_open(p) AS endpoint_open, p.deleted AS endpoint_deleted, p.state = 'down' AS endpoint_down,
  p.permits IS NOT NULL AS endpoint_paced, p.rate IS NOT NULL AS endpoint_rated, p.in_flight_cap AS endpoint_cap,
  p.epoch AS endpoint_epoch,
  coalesce(p.permits IS NULL AND p.state = 'open' AND p.recovered_at > now() - interval '${PROVEN_FOR_MS} milliseconds', false) AS endpoint_proven,
  s.url, s.envelope, s.max_age, s.secret_sealed, s.next_secret_sealed, s.headers_sealed, s.signatures,
  coalesce(s.secret_overlap_ends_at <= now(), false) AS overlap_ended, s.stream_audience`;

/**
 * What a send needs of these and of the row d (deliveries), beside the delivery's state and the body: a claim of first
 * attempts reads it too, so that no second statement has to.
 */
export const LOADED_COLUMNS = `d.subscription_id, d.test, ${DUE}, ${LATE}, d.created_at,
  d.retry_requested_at IS NOT NULL AS retry_requested, coalesce(d.last_error, 'http:' || d.last_status_code) AS last_outcome,
  p.failures_in_a_row > 0 OR p.permits IS NOT NULL OR p.state <> 'open'
    OR d.attempt_count > 0 AND coalesce(p.recovered_at < now() - ${RENEWED_AFTER}, false) AS endpoint_failing,
  endpoint_is_open(p) AND p.state = 'open' AND p.failures_in_a_row = 0 AND p.permits IS NULL AND p.rate IS NULL
    AND coalesce(p.p90_ms, 0) < ${FAST_MS} AND p.updated_at <= d.created_at AS endpoint_steady, ${RECEIVER_COLUMNS}`;

// OFFSET 0 makes each join one index lookup a row, in the one partition that its id names: the planner, which does not
// know how few rows there are, would read whole partitions.
const readAll = many<
  Omit<LoadedDelivery, 'readAt'> & { readonly place: number },
  [
    ids: readonly string[],
    numbers: readonly number[],
    generations: readonly number[],
    least: string,
    greatest: string,
  ]
>(`
SELECT w.place, d.tenant_id, d.status, d.generation, d.attempt_count, d.event_type,
  EXISTS (SELECT 1 FROM attempts a WHERE a.delivery_id = w.id AND a.delivery_id BETWEEN $4 AND $5
    AND a.n >= w.n AND a.generation = w.generation) AS recorded,
  ${OWN_WORKFLOW} AS own_workflow, e.body, ${LOADED_COLUMNS}
FROM unnest($1::uuid[], $2::int[], $3::int[]) WITH ORDINALITY AS w (id, n, generation, place)
CROSS JOIN LATERAL (
  SELECT * FROM deliveries WHERE deliveries.id = w.id AND deliveries.id BETWEEN $4 AND $5 OFFSET 0) AS d
JOIN endpoints p ON p.subscription_id = d.subscription_id
JOIN subscriptions s ON s.id = d.subscription_id
LEFT JOIN LATERAL (SELECT body FROM events WHERE events.id = d.event_row OFFSET 0) AS e ON true`);

/** Reads the deliveries of these requests, in the same order; undefined where the delivery no longer exists. */
export async function load(
  queryable: Queryable,
  requests: readonly { deliveryId: string; n: number; generation: number }[],
): Promise<(LoadedDelivery | undefined)[]> {
  const ids = requests.map(({ deliveryId }) => deliveryId);
  const numbers = requests.map(({ n }) => n);
  const generations = requests.map(({ generation }) => generation);
  const rows = await readAll(queryable, ids, numbers, generations, ...boundsOf(ids));
  const readAt = performance.now();
  const found = new Map(rows.map((row) => [row.place, { ...row, readAt }]));
  return requests.map((_, index) => found.get(index + 1));
}

const findPost = one<{ n: number }, [deliveryId: string, generation: number, startedAt: string]>(
  `SELECT n FROM attempts WHERE delivery_id = $1 AND generation = $2 AND started_at = $3::timestamptz`,
);

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
      const before = await findPost(unit, deliveryId, generation, startedAt);
      results.push(before && { ...before, fresh: false });
    }
  }
  return results;
}

const lockAll = many<LockedDelivery, [ids: readonly string[], least: string, greatest: string]>(`
SELECT d.id, d.tenant_id, d.subscription_id, d.event_id, d.event_type, d.test,
  d.status, d.generation, d.attempt_count, d.failed_attempts,
  d.retry_requested_at, ${OWN_WORKFLOW} AS own_workflow, ${DUE}, s.retry_policy
FROM deliveries d JOIN subscriptions s ON s.id = d.subscription_id
WHERE d.id = ANY($1::uuid[]) AND d.id BETWEEN $2 AND $3 ORDER BY d.id FOR UPDATE OF d`);

/** Locks deliveries in id order. @returns id → delivery; none where it no longer exists */
export async function lock(
  unit: Transaction,
  ids: readonly string[],
): Promise<ReadonlyMap<string, LockedDelivery>> {
  return new Map((await lockAll(unit, ids, ...boundsOf(ids))).map((row) => [row.id, row]));
}

/** Reads an endpoint with a shared lock, so that it cannot be opened or closed until the transaction ends. */
export const shareEndpoint = one<LockedEndpoint, [subscriptionId: string]>(`
SELECT endpoint_is_open(p) AS open, p.permits IS NOT NULL AS paced, p.rate IS NOT NULL AS rated, p.deleted, p.epoch
FROM endpoints p WHERE p.subscription_id = $1 FOR SHARE`);

const READ_URL = 'SELECT url FROM subscriptions WHERE id = $1';
const URL_LOCKED = {
  'FOR SHARE': one<{ url: string }, [subscriptionId: string]>(`${READ_URL} FOR SHARE`),
  'FOR NO KEY UPDATE': one<{ url: string }, [subscriptionId: string]>(`${READ_URL} FOR NO KEY UPDATE`),
};

/** Reads the subscription's URL. @param lock of the subscription's row until the transaction ends */
export async function readUrl(
  unit: Transaction,
  subscriptionId: string,
  lock: keyof typeof URL_LOCKED,
): Promise<string | undefined> {
  return (await URL_LOCKED[lock](unit, subscriptionId))?.url;
}

/** How often a number is chosen again when other POSTs of the same delivery are recorded concurrently. */
const MOST_TRIES = 10;

/** Repeats a record until no other POST has taken its number, at most `MOST_TRIES` times. */
export async function numbered<T>(record: () => Promise<T | undefined>): Promise<T> {
  for (let tries = 0; tries < MOST_TRIES; tries += 1) {
    const result = await record();
    if (result !== undefined) return result;
  }
  throw new ServiceError('temporarily_unavailable', { detail: 'The attempt found no number of its own.' });
}
