// SQL by which people read, retry and cancel deliveries.
import { type Page, type PageRequest, toPage } from '../../platform/database/page.ts';
import { changed, many, one, type Statement, value } from '../../platform/database/statements.ts';
import type { Queryable } from '../../platform/database/transaction.ts';
import { attemptCrowded, leaveCrowd } from '../rows/crowd.ts';
import { beginAgain, endingStatement } from '../rows/delivery-row.ts';
import { enqueue } from '../rows/outbox.ts';
import type { AttemptRecord, DeliveryFilters, DeliveryRecord, DeliveryStatus } from './delivery.ts';

export type DeliveryScope = { readonly tenantId: string; readonly subscriptionId?: string | undefined };

// Unfinished deliveries of a deleted subscription are shown as canceled, at the time of its deletion. The time of the
// next attempt is null while it is not known when the endpoint opens.
const COLUMNS = `
d.id, d.subscription_id, d.event_id, d.event_type,
d.shown_status AS status, d.attempt_count,
CASE d.shown_status WHEN 'held' THEN endpoint_opens_at(p) WHEN 'pending' THEN d.next_attempt_at
  WHEN 'retrying' THEN CASE WHEN endpoint_is_open(p) THEN d.next_attempt_at
    WHEN endpoint_opens_at(p) IS NOT NULL THEN greatest(d.next_attempt_at, endpoint_opens_at(p)) END END AS next_attempt_at,
d.last_status_code, d.last_error, d.created_at,
CASE d.shown_status WHEN 'canceled' THEN coalesce(d.completed_at, p.updated_at) ELSE d.completed_at END AS completed_at, d.generation, d.started_generation,
d.needs_workflow, p.watched AS endpoint_watched`;

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

/** Lists a page of deliveries, the newest first. The text has the conditions that are asked for, and no others. */
export async function list(
  queryable: Queryable,
  scope: DeliveryScope,
  request: PageRequest & DeliveryFilters,
): Promise<Page<DeliveryRecord>> {
  const { text, values } = listQuery(scope, request);
  const { rows } = await queryable.query<DeliveryRecord>(text, values, 'camelCase');
  return toPage(rows, request.limit);
}

type Name = [id: string, tenantId: string];
type Scoped = [...Name, subscriptionId: string | undefined];

const inScope =
  <Answer>(statement: Statement<Scoped, Answer>) =>
  (queryable: Queryable, { tenantId, subscriptionId }: DeliveryScope, id: string): Promise<Answer> =>
    statement(queryable, id, tenantId, subscriptionId);

/** @returns whether the delivery is in the scope; false for a deleted subscription. One indexed read. */
export const exists = inScope(
  changed<Scoped>(`
SELECT 1 FROM deliveries d
WHERE d.id = $1 AND d.tenant_id = $2 AND ($3::uuid IS NULL OR d.subscription_id = $3 AND EXISTS (
  SELECT 1 FROM subscriptions s
  WHERE s.id = $3 AND s.tenant_id = $2 AND s.deleted_at IS NULL AND s.stream_audience IS NULL))`),
);

/** @returns undefined when the delivery is not in the scope */
export const find = inScope(
  one<DeliveryRecord, Scoped>(`
SELECT ${COLUMNS} ${FROM}
WHERE d.id = $1 AND d.tenant_id = $2 AND ($3::uuid IS NULL OR d.subscription_id = $3)`),
);

/** Finds the tenant of a delivery. */
export const findTenant = one<{ tenantId: string }, [id: string]>(
  'SELECT tenant_id FROM deliveries WHERE id = $1',
);

/** Reads the exact bytes that each attempt sends; undefined when the event is no longer kept. */
export const findPayload = one<{ body: Buffer }, Name>(
  'SELECT e.body FROM deliveries d JOIN events e ON e.id = d.event_row WHERE d.id = $1 AND d.tenant_id = $2',
);

type OfEvent = Pick<DeliveryRecord, 'id' | 'subscriptionId' | 'status'>;

// The ids of an event's deliveries begin with the same time as the event's id, so the range selects their partition.
const listWithin = many<OfEvent, [eventRow: string, tenantId: string, least: string, greatest: string]>(`
SELECT id, subscription_id, shown_status AS status FROM delivery_records
WHERE event_row = $1 AND tenant_id = $2 AND id BETWEEN $3 AND $4 ORDER BY id LIMIT 1000`);

/** Lists the deliveries of an event, at most 1,000. @param eventRow id of the event's row */
export function listOfEvent(queryable: Queryable, tenantId: string, eventRow: string): Promise<OfEvent[]> {
  const begin = eventRow.slice(0, 'xxxxxxxx-xxxx-7'.length);
  const bounds = [`${begin}000-0000-000000000000`, `${begin}fff-ffff-ffffffffffff`] as const;
  return listWithin(queryable, eventRow, tenantId, ...bounds);
}

/** Lists the attempts of a delivery, the first attempt first. */
export const listAttempts = many<AttemptRecord, Name>(`
SELECT n AS number, started_at, duration_ms, phases, status_code,
  error, retry_after_seconds, response_excerpt
FROM attempts WHERE delivery_id = $1 AND tenant_id = $2 ORDER BY n`);

/** Reads the client that receives a stream; null for a subscription that is no stream. */
export const findReceiver = one<{ receiver: string | null }, [subscriptionId: string]>(
  'SELECT stream_audience AS receiver FROM subscriptions WHERE id = $1',
);

/**
 * Makes an unfinished delivery due now, or replays an ended one, and enqueues the work. A replay gives it a new
 * generation and an outbox row that starts a workflow. The workflow of an unfinished one gets a command only after it
 * has made an attempt or waits. Before that, the claim of the outbox row or the attempt under way reads the request in
 * the row. A delivery that waits in a crowd leaves it.
 * @param workId id of the outbox row
 * @param unfinished a generation: nothing is done unless the delivery is unfinished in this generation
 * @returns whether it had ended; undefined when the subscription is deleted, or `unfinished` does not match
 */
export const retry = one<{ ended: boolean }, [...Name, workId: string, unfinished: number | undefined]>(`
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
SELECT ended FROM changed`);

const canceling = <Values extends readonly unknown[]>(target: string) =>
  value<number, Values>(endingStatement({ target, answer: 'SELECT count(*)::int AS canceled FROM changed' }));

/** Cancels an unfinished delivery. @returns 0 when it has already ended, or 1 */
export const cancel = canceling<Name>(`
  SELECT id FROM deliveries WHERE id = $1 AND tenant_id = $2 AND status IN ('pending', 'retrying') FOR UPDATE`);

/**
 * Cancels deliveries of a subscription that have no attempt yet, the oldest first: the others show as retrying, not as
 * held. They are locked in id order, as in all statements that lock several, to prevent deadlocks.
 * @param evenActive also when the subscription is active
 * @returns how many, at most `limit`
 */
export const cancelUntried = canceling<[subscriptionId: string, evenActive: boolean, limit: number]>(`
  SELECT d.id FROM deliveries d JOIN endpoints p ON p.subscription_id = d.subscription_id
  WHERE d.subscription_id = $1 AND d.status = 'pending' AND ($2 OR NOT p.active)
  ORDER BY d.id LIMIT $3 FOR UPDATE OF d`);

/** Cancels unfinished deliveries of a subscription. @returns how many, at most `limit` */
export const cancelUnfinished = canceling<[subscriptionId: string, limit: number]>(`
  SELECT id FROM deliveries WHERE subscription_id = $1 AND status IN ('pending', 'retrying')
  ORDER BY id LIMIT $2 FOR UPDATE SKIP LOCKED`);

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
