// SQL of the hours: which are due, what their deliveries became, and what a tenant sees of them.
import { deleteOldest } from '../../platform/database/deletion.ts';
import { changed, many, one, only } from '../../platform/database/statements.ts';
import { batchOf } from '../../platform/database/table.ts';
import type { Queryable } from '../../platform/database/transaction.ts';
import { DELIVERY_HOUR } from './account.model.ts';
import { type DeliveryHour, ENDS, HOURS, type ListedHour } from './hour.ts';

/** The present hour and the one before are counted each minute, all of the day every 15 minutes. */
const EVERY = `interval '1 minute'`;
const ALL_EVERY = `interval '15 minutes'`;
const KEPT = `interval '${HOURS} hours'`;

/**
 * Claims the next count. The claim of one process is over by itself, so one that ends during a count keeps no other
 * from the next.
 * @returns the present hour, and whether all hours are due; undefined while none is
 */
export const claim = one<{ readonly hour: Date; readonly all: boolean }>(`
UPDATE delivery_hour_counts c SET due_at = now() + ${EVERY}, counted_at = now(),
  all_counted_at = CASE WHEN c.all_counted_at <= now() - ${ALL_EVERY} THEN now() ELSE c.all_counted_at END
WHERE c.due_at <= now()
RETURNING c.all_counted_at = c.counted_at AS "all", date_trunc('hour', now(), 'UTC') AS hour`);

/** Puts the next count off for `ms`, when it would come sooner. */
export const putOff = changed<[ms: number]>(
  `UPDATE delivery_hour_counts SET due_at = greatest(due_at, now() + $1 * interval '1 millisecond')`,
);

/** Counts the deliveries of a span by subscription. The times are ISO 8601. */
export const count = many<DeliveryHour, [from: string, to: string]>(`
SELECT tenant_id, subscription_id, count(*) FILTER (WHERE status = 'delivered')::int AS delivered,
  count(*) FILTER (WHERE status = 'failed')::int AS failed, count(*) FILTER (WHERE status = 'canceled')::int AS canceled,
  count(*) FILTER (WHERE status IN ('pending', 'retrying'))::int AS unfinished
FROM deliveries WHERE id >= uuid_of_time($1::timestamptz) AND id < uuid_of_time($2::timestamptz)
GROUP BY tenant_id, subscription_id`);

const COLUMNS = batchOf(DELIVERY_HOUR, ['tenantId', 'subscriptionId', ...ENDS]);

const saveAll = changed<[hour: Date, ...columns: unknown[][]]>(`
INSERT INTO delivery_hours AS h (hour, ${COLUMNS.names})
SELECT $1::timestamptz, ${COLUMNS.names} FROM ${COLUMNS.from('counted', 2)} ORDER BY tenant_id, subscription_id
ON CONFLICT (tenant_id, subscription_id, hour) DO UPDATE
SET delivered = excluded.delivered, failed = excluded.failed, canceled = excluded.canceled, unfinished = excluded.unfinished
WHERE (h.delivered, h.failed, h.canceled, h.unfinished)
  IS DISTINCT FROM (excluded.delivered, excluded.failed, excluded.canceled, excluded.unfinished)`);

export async function save(
  queryable: Queryable,
  hour: Date,
  counted: readonly DeliveryHour[],
): Promise<void> {
  await saveAll(queryable, hour, ...COLUMNS.of(counted));
}

/** Lists the hours up to `present` that have deliveries: of each subscription, or the sum of the tenant's. */
export const list = many<
  ListedHour,
  [tenantId: string, subscriptionIds: readonly string[] | undefined, present: Date]
>(`
SELECT CASE WHEN $2::uuid[] IS NULL THEN NULL ELSE subscription_id END AS subscription_id, hour,
  ${ENDS.map((end) => `sum(${end})::float8 AS ${end}`).join(', ')}
FROM delivery_hours WHERE tenant_id = $1 AND ($2::uuid[] IS NULL OR subscription_id = ANY ($2)) AND hour > $3::timestamptz - ${KEPT}
GROUP BY 1, 2`);

/** Reads the present hour, and when hours were counted last; null before the first count. */
export const readClock = only<{ readonly present: Date; readonly countedAt: Date | null }>(
  `SELECT date_trunc('hour', now(), 'UTC') AS present, nullif(counted_at, '-infinity') AS counted_at FROM delivery_hour_counts`,
);

export const purge = deleteOldest('delivery_hours', {
  key: ['tenant_id', 'subscription_id', 'hour'],
  old: `hour < now() - ${KEPT} - interval '1 hour'`,
  by: 'hour',
});
