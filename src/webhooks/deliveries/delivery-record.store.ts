// SQL by which people read, retry and cancel deliveries.
import { type Page, type PageRequest, toPage } from '../../platform/database/page.ts';
import type { Queryable } from '../../platform/database/transaction.ts';
import { attemptCrowded, leaveCrowd } from '../rows/crowd.ts';
import { beginAgain, endingStatement } from '../rows/delivery-row.ts';
import { enqueue } from '../rows/outbox.ts';
import type { AttemptRecord, DeliveryFilters, DeliveryRecord, DeliveryStatus } from './delivery.ts';

export type DeliveryScope = { readonly tenantId: string; readonly subscriptionId?: string | undefined };

// Unfinished deliveries of a deleted subscription are shown as canceled, at the time of its deletion. The time of the
// next attempt is null while it is not known when the endpoint opens.
const COLUMNS = `
d.id, d.subscription_id AS "subscriptionId", d.event_id AS "eventId", d.event_type AS "eventType",
d.shown_status AS status, d.attempt_count AS "attemptCount",
CASE d.shown_status WHEN 'held' THEN endpoint_opens_at(p) WHEN 'pending' THEN d.next_attempt_at
  WHEN 'retrying' THEN CASE WHEN endpoint_is_open(p) THEN d.next_attempt_at
    WHEN endpoint_opens_at(p) IS NOT NULL THEN greatest(d.next_attempt_at, endpoint_opens_at(p)) END END AS "nextAttemptAt",
d.last_status_code AS "lastStatusCode", d.last_error AS "lastError", d.created_at AS "createdAt",
CASE d.shown_status WHEN 'canceled' THEN coalesce(d.completed_at, p.updated_at) ELSE d.completed_at END AS "completedAt", d.generation, d.started_generation AS "startedGeneration",
d.needs_workflow AS "needsWorkflow", p.watched AS "endpointWatched"`;

const FROM = 'FROM delivery_records d JOIN endpoints p ON p.subscription_id = d.subscription_id';

/** The stored statuses of each shown status, as literal text, because the planner then uses the partial indexes. */
const STORED: Readonly<Record<DeliveryStatus, string>> = {
  pending: `d.status = 'pending'`,
  held: `d.status = 'pending'`,
  retrying: `d.status = 'retrying'`,
  delivered: `d.status = 'delivered'`,
  failed: `d.status = 'failed'`,
  canceled: `(d.status = 'canceled' OR d.status IN ('pending', 'retrying') AND p.deleted)`,
};

/** Widens a range of ids, because their time comes from an api process but `created_at` from the database. */
const CLOCK_SKEW = `interval '1 hour'`;

const EXISTS = `
SELECT 1 FROM deliveries d
WHERE d.id = $1 AND d.tenant_id = $2 AND ($3::uuid IS NULL OR d.subscription_id = $3 AND EXISTS (
  SELECT 1 FROM subscriptions s
  WHERE s.id = $3 AND s.tenant_id = $2 AND s.deleted_at IS NULL AND s.stream_audience IS NULL))`;

// The ids of an event's deliveries begin with the same time as the event's id, so the range selects their partition.
const OF_EVENT = `
SELECT id, subscription_id AS "subscriptionId", shown_status AS status FROM delivery_records
WHERE event_row = $1 AND tenant_id = $2 AND id BETWEEN $3 AND $4 ORDER BY id LIMIT 1000`;

const TENANT_OF = 'SELECT tenant_id AS "tenantId" FROM deliveries WHERE id = $1';

const ATTEMPTS = `
SELECT n AS number, started_at AS "startedAt", duration_ms AS "durationMs", phases, status_code AS "statusCode",
  error, retry_after_seconds AS "retryAfterSeconds", response_excerpt AS "responseExcerpt"
FROM attempts WHERE delivery_id = $1 AND tenant_id = $2 ORDER BY n`;

// Retrying an ended delivery replays it: the delivery gets a new generation and an outbox row that starts a workflow.
// Retrying an unfinished delivery makes it due now. Its workflow gets a command only after it has made an attempt or
// waits. Before that, the claim of the outbox row or the attempt under way reads the request in the row. A delivery
// that waits in a crowd leaves it.
const RETRY = `
WITH target AS (
  SELECT d.id, d.status IN ('delivered', 'failed', 'canceled') AS ended
  FROM deliveries d JOIN endpoints p ON p.subscription_id = d.subscription_id
  WHERE d.id = $1 AND d.tenant_id = $2 AND NOT p.deleted
    AND ($4::int IS NULL OR d.generation = $4 AND d.status IN ('pending', 'retrying'))
  FOR UPDATE OF d
), changed AS (
  ${beginAgain('target')}
), left_crowd AS (${leaveCrowd('changed')}
), attempts AS (${attemptCrowded('(SELECT * FROM changed WHERE id IN (SELECT id FROM left_crowd)) AS crowded')}
), work AS (${enqueue({
  id: '$3',
  kind: `CASE WHEN ended THEN 'start' ELSE 'command' END`,
  rank: '2',
  command: `CASE WHEN ended THEN NULL ELSE 'retry' END`,
  from: 'changed WHERE ended OR started_generation = generation',
})}
)
SELECT ended FROM changed`;

const cancelStatement = (target: string) =>
  endingStatement({ target, answer: 'SELECT count(*)::int AS canceled FROM changed' });

const CANCEL_ONE = cancelStatement(`
  SELECT id FROM deliveries WHERE id = $1 AND tenant_id = $2 AND status IN ('pending', 'retrying') FOR UPDATE`);

// Only deliveries without an attempt, because the others show as retrying, not as held. Deliveries are locked in
// id order, as in all statements that lock several, to prevent deadlocks.
const CANCEL_UNTRIED = cancelStatement(`
  SELECT d.id FROM deliveries d JOIN endpoints p ON p.subscription_id = d.subscription_id
  WHERE d.subscription_id = $1 AND d.status = 'pending' AND ($2 OR NOT p.active)
  ORDER BY d.id LIMIT $3 FOR UPDATE OF d`);

const CANCEL_UNFINISHED = cancelStatement(`
  SELECT id FROM deliveries WHERE subscription_id = $1 AND status IN ('pending', 'retrying')
  ORDER BY id LIMIT $2 FOR UPDATE SKIP LOCKED`);

/** Lists a page of deliveries, the newest first. */
export async function list(
  queryable: Queryable,
  scope: DeliveryScope,
  request: PageRequest & DeliveryFilters,
): Promise<Page<DeliveryRecord>> {
  const { text, values } = listQuery(scope, request);
  const { rows } = await queryable.query<DeliveryRecord>(text, values);
  return toPage(rows, request.limit);
}

/** @returns whether the delivery is in the scope; false for a deleted subscription. One indexed read. */
export async function exists(queryable: Queryable, scope: DeliveryScope, id: string): Promise<boolean> {
  const { rowCount } = await queryable.query(EXISTS, [id, scope.tenantId, scope.subscriptionId ?? null]);
  return rowCount > 0;
}

/** @returns undefined when there is no such delivery */
export async function findTenantId(queryable: Queryable, id: string): Promise<string | undefined> {
  const { rows } = await queryable.query<{ tenantId: string }>(TENANT_OF, [id]);
  return rows[0]?.tenantId;
}

/** @returns undefined when the delivery is not in the scope */
export async function find(
  queryable: Queryable,
  scope: DeliveryScope,
  id: string,
): Promise<DeliveryRecord | undefined> {
  const { rows } = await queryable.query<DeliveryRecord>(
    `SELECT ${COLUMNS} ${FROM}
         WHERE d.id = $1 AND d.tenant_id = $2 AND ($3::uuid IS NULL OR d.subscription_id = $3)`,
    [id, scope.tenantId, scope.subscriptionId ?? null],
  );
  return rows[0];
}

/** Reads the exact bytes that each attempt sends; undefined when the event is no longer kept. */
export async function findPayload(
  queryable: Queryable,
  tenantId: string,
  id: string,
): Promise<Buffer | undefined> {
  const { rows } = await queryable.query<{ payload: Buffer | null }>(
    `SELECT e.body AS payload FROM deliveries d JOIN events e ON e.id = d.event_row
         WHERE d.id = $1 AND d.tenant_id = $2`,
    [id, tenantId],
  );
  return rows[0]?.payload ?? undefined;
}

/** Lists the deliveries of an event, at most 1,000. @param eventRow id of the event's row */
export async function listOfEvent(
  queryable: Queryable,
  tenantId: string,
  eventRow: string,
): Promise<Pick<DeliveryRecord, 'id' | 'subscriptionId' | 'status'>[]> {
  const begin = eventRow.slice(0, 'xxxxxxxx-xxxx-7'.length);
  const { rows } = await queryable.query<Pick<DeliveryRecord, 'id' | 'subscriptionId' | 'status'>>(OF_EVENT, [
    eventRow,
    tenantId,
    `${begin}000-0000-000000000000`,
    `${begin}fff-ffff-ffffffffffff`,
  ]);
  return rows;
}

/** Lists the attempts of a delivery, the first attempt first. */
export async function listAttempts(
  queryable: Queryable,
  tenantId: string,
  id: string,
): Promise<AttemptRecord[]> {
  const { rows } = await queryable.query<AttemptRecord>(ATTEMPTS, [id, tenantId]);
  return rows;
}

/** @returns the client that receives the stream; null for a subscription that is no stream */
export async function findReceiver(queryable: Queryable, subscriptionId: string): Promise<string | null> {
  const { rows } = await queryable.query<{ receiver: string | null }>(
    'SELECT stream_audience AS receiver FROM subscriptions WHERE id = $1',
    [subscriptionId],
  );
  return rows[0]?.receiver ?? null;
}

/**
 * Makes an unfinished delivery due now, or replays an ended one, and enqueues the work.
 * @param workId id of the outbox row
 * @param unfinished a generation: nothing is done unless the delivery is unfinished in this generation
 * @returns the state before; undefined when the subscription is deleted, or `unfinished` does not match
 */
export async function retry(
  unit: Queryable,
  tenantId: string,
  id: string,
  workId: string,
  unfinished?: number | undefined,
): Promise<'waiting' | 'ended' | undefined> {
  const values = [id, tenantId, workId, unfinished ?? null];
  const { rows } = await unit.query<{ ended: boolean }>(RETRY, values);
  return rows[0] === undefined ? undefined : rows[0].ended ? 'ended' : 'waiting';
}

/** Cancels an unfinished delivery. @returns false when it has already ended */
export async function cancel(unit: Queryable, tenantId: string, id: string): Promise<boolean> {
  const { rows } = await unit.query<{ canceled: number }>(CANCEL_ONE, [id, tenantId]);
  return (rows[0]?.canceled ?? 0) > 0;
}

/**
 * Cancels deliveries of a subscription that have no attempt yet, the oldest first.
 * @param options.onlyWhileInactive cancels nothing when the subscription is active
 * @returns how many, at most `options.limit`
 */
export async function cancelUntried(
  unit: Queryable,
  subscriptionId: string,
  { onlyWhileInactive, limit }: { onlyWhileInactive: boolean; limit: number },
): Promise<number> {
  const { rows } = await unit.query<{ canceled: number }>(CANCEL_UNTRIED, [
    subscriptionId,
    !onlyWhileInactive,
    limit,
  ]);
  return rows[0]?.canceled ?? 0;
}

/** Cancels unfinished deliveries of a subscription. @returns how many, at most `limit` */
export async function cancelUnfinished(
  unit: Queryable,
  subscriptionId: string,
  limit: number,
): Promise<number> {
  const { rows } = await unit.query<{ canceled: number }>(CANCEL_UNFINISHED, [subscriptionId, limit]);
  return rows[0]?.canceled ?? 0;
}

function listQuery(
  { tenantId, subscriptionId }: DeliveryScope,
  { limit, cursor, status, eventType, eventId, since, until, ...filters }: PageRequest & DeliveryFilters,
): { text: string; values: unknown[] } {
  const values: unknown[] = [tenantId, limit + 1];
  const conditions = ['d.tenant_id = $1'];
  const where = (condition: (parameter: string) => string, value: unknown) => {
    if (value === undefined) return;
    values.push(value);
    conditions.push(condition(`$${values.length}`));
  };
  where((p) => `d.subscription_id = ${p}`, subscriptionId ?? filters.subscriptionId);
  where((p) => `d.id < ${p}`, cursor);
  where((p) => `d.event_type = ${p}`, eventType);
  // Deliveries are indexed by the row of their event, and events by the id that the publisher gave.
  where(
    (p) => `d.event_row = ANY (ARRAY(SELECT id FROM events WHERE tenant_id = $1 AND event_id = ${p}))`,
    eventId,
  );
  // The id ranges only limit the partitions and index entries that are read; `created_at` decides.
  where(
    (p) =>
      `d.created_at >= ${p} AND d.id >= uuid_of_time(greatest(${p}::timestamptz - ${CLOCK_SKEW}, 'epoch'))`,
    since,
  );
  where((p) => `d.created_at < ${p} AND d.id < uuid_of_time(${p}::timestamptz + ${CLOCK_SKEW})`, until);
  if (status !== undefined) conditions.push(STORED[status]);
  where((p) => `d.shown_status = ${p}`, status);
  const text = `SELECT ${COLUMNS} ${FROM} WHERE ${conditions.join(' AND ')} ORDER BY d.id DESC LIMIT $2`;
  return { text, values };
}
