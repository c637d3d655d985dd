// SQL of the hours: which are due, what their deliveries became, and what a tenant sees of them.
import { columnsOf } from '../../platform/columns.ts';
import { deleteOldest } from '../../platform/database/deletion.ts';
import type { Queryable } from '../../platform/database/transaction.ts';
import { type DeliveryHour, ENDS, HOURS, type ListedHour } from './hour.ts';

/** The present hour and the one before are counted each minute, all of the day every 15 minutes. */
const EVERY = `interval '1 minute'`;
const ALL_EVERY = `interval '15 minutes'`;
const KEPT = `interval '${HOURS} hours'`;

// The claim of one process is over by itself, so one that ends during a count keeps no other from the next.
const CLAIM = `
UPDATE delivery_hour_counts c SET due_at = now() + ${EVERY}, counted_at = now(),
  all_counted_at = CASE WHEN c.all_counted_at <= now() - ${ALL_EVERY} THEN now() ELSE c.all_counted_at END
WHERE c.due_at <= now()
RETURNING c.all_counted_at = c.counted_at AS "all", date_trunc('hour', now(), 'UTC') AS hour`;

const COUNT = `
SELECT tenant_id AS "tenantId", subscription_id AS "subscriptionId", count(*) FILTER (WHERE status = 'delivered')::int AS delivered,
  count(*) FILTER (WHERE status = 'failed')::int AS failed, count(*) FILTER (WHERE status = 'canceled')::int AS canceled,
  count(*) FILTER (WHERE status IN ('pending', 'retrying'))::int AS unfinished
FROM deliveries WHERE id >= uuid_of_time($1::timestamptz) AND id < uuid_of_time($2::timestamptz)
GROUP BY tenant_id, subscription_id`;

const COLUMNS = columnsOf<DeliveryHour>({ uuid: ['tenantId', 'subscriptionId'], int: ENDS });

const SAVE = `
INSERT INTO delivery_hours AS h (hour, ${COLUMNS.names})
SELECT $1::timestamptz, ${COLUMNS.names} FROM ${COLUMNS.from('counted', 2)} ORDER BY tenant_id, subscription_id
ON CONFLICT (tenant_id, subscription_id, hour) DO UPDATE
SET delivered = excluded.delivered, failed = excluded.failed, canceled = excluded.canceled, unfinished = excluded.unfinished
WHERE (h.delivered, h.failed, h.canceled, h.unfinished)
  IS DISTINCT FROM (excluded.delivered, excluded.failed, excluded.canceled, excluded.unfinished)`;

const LIST = `
SELECT CASE WHEN $2::uuid[] IS NULL THEN NULL ELSE subscription_id END AS "subscriptionId", hour,
  ${ENDS.map((end) => `sum(${end})::float8 AS ${end}`).join(', ')}
FROM delivery_hours WHERE tenant_id = $1 AND ($2::uuid[] IS NULL OR subscription_id = ANY ($2)) AND hour > $3::timestamptz - ${KEPT}
GROUP BY 1, 2`;

/** Claims the next count. @returns the present hour, and whether all hours are due; undefined while none is */
export async function claim(queryable: Queryable): Promise<{ hour: Date; all: boolean } | undefined> {
  return (await queryable.query<{ hour: Date; all: boolean }>(CLAIM)).rows[0];
}

/** Puts the next count off for `ms`, when it would come sooner. */
export async function putOff(queryable: Queryable, ms: number): Promise<void> {
  await queryable.query(
    `UPDATE delivery_hour_counts SET due_at = greatest(due_at, now() + $1 * interval '1 millisecond')`,
    [ms],
  );
}

/** Counts the deliveries of a span by subscription. @param span times in ISO 8601 */
export async function count(
  queryable: Queryable,
  span: { from: string; to: string },
): Promise<DeliveryHour[]> {
  return (await queryable.query<DeliveryHour>(COUNT, [span.from, span.to])).rows;
}

export async function save(
  queryable: Queryable,
  hour: Date,
  counted: readonly DeliveryHour[],
): Promise<void> {
  await queryable.query(SAVE, [hour, ...COLUMNS.of(counted)]);
}

/** Lists the hours up to `present` that have deliveries: of each subscription, or the sum of the tenant's. */
export async function list(
  queryable: Queryable,
  tenantId: string,
  { subscriptionIds, present }: { subscriptionIds: readonly string[] | undefined; present: Date },
): Promise<ListedHour[]> {
  return (await queryable.query<ListedHour>(LIST, [tenantId, subscriptionIds ?? null, present])).rows;
}

/** Reads the present hour, and when hours were counted last; null before the first count. */
export async function readClock(queryable: Queryable): Promise<{ present: Date; countedAt: Date | null }> {
  const { rows } = await queryable.query<{ present: Date; countedAt: Date | null }>(
    `SELECT date_trunc('hour', now(), 'UTC') AS present, nullif(counted_at, '-infinity') AS "countedAt" FROM delivery_hour_counts`,
  );
  const [clock] = rows;
  if (clock === undefined) throw new Error('delivery_hour_counts has no row');
  return clock;
}

export const purge = deleteOldest('delivery_hours', {
  key: ['tenant_id', 'subscription_id', 'hour'],
  old: `hour < now() - ${KEPT} - interval '1 hour'`,
  by: 'hour',
});
