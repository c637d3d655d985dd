// SQL that removes ended deliveries of one tenant before their partition goes.
import { KEPT_DAYS, keptFrom } from '../../platform/database/kept-days.ts';
import { boundsOf } from '../../platform/database/partitions.ts';
import type { Queryable } from '../../platform/database/transaction.ts';

/** A part of a tenant's rows: those after `after`, accepted before the last `days` whole UTC days. */
export type OldRows = {
  readonly tenantId: string;
  readonly days: number;
  readonly after: string;
  readonly limit: number;
};

/** The first id of the days that are kept. `$2`: days. */
export const KEPT_FROM = `uuid_of_time(${keptFrom('$2')})`;

// A receipt that is open counts all deliveries of its event.
const PAGE = `
SELECT id, status NOT IN ('pending', 'retrying')
  AND NOT EXISTS (SELECT 1 FROM receipts r WHERE r.id = d.event_row AND r.completed_at IS NULL OFFSET 0) AS due
FROM deliveries d WHERE tenant_id = $1 AND id < ${KEPT_FROM} AND id > $3 ORDER BY id LIMIT $4`;

const REMOVE = `
DELETE FROM deliveries WHERE id BETWEEN $2 AND $3 AND id IN (
  SELECT id FROM deliveries WHERE id = ANY ($1::uuid[]) AND id BETWEEN $2 AND $3 AND status NOT IN ('pending', 'retrying')
  ORDER BY id FOR UPDATE SKIP LOCKED
) RETURNING id, event_row AS "eventRow", status`;

// A receipt that is older than any delivery keeps nothing. An account is not counted while rows of its day go.
const KEEPS_DAY = `
WITH ids AS (
  SELECT uuid_of_time($1::date::timestamp AT TIME ZONE 'UTC') AS low, uuid_of_time(($1::date + 1)::timestamp AT TIME ZONE 'UTC') AS high
)
SELECT EXISTS (SELECT FROM deliveries, ids WHERE status IN ('pending', 'retrying') AND id >= low AND id < high)
  OR EXISTS (SELECT FROM receipts, ids WHERE completed_at IS NULL AND id >= low AND id < high)
    AND $1::date >= (now() AT TIME ZONE 'UTC')::date - ${KEPT_DAYS}
  OR EXISTS (SELECT FROM delivery_accounts WHERE day = $1::date AND gone_at > now() - interval '5 minutes') AS kept`;

/** Returns whether a day's rows stay: a delivery is under way, a receipt is open, or some went minutes ago. */
export async function keepsDay(queryable: Queryable, day: string): Promise<boolean> {
  return (await queryable.query<{ kept: boolean }>(KEEPS_DAY, [day])).rows[0]?.kept ?? false;
}

/** Reads old deliveries in the order of their ids; `due`: ended, and no receipt waits for them. */
export async function pageOfOld(
  queryable: Queryable,
  { tenantId, days, after, limit }: OldRows,
): Promise<{ readonly id: string; readonly due: boolean }[]> {
  return (await queryable.query<{ id: string; due: boolean }>(PAGE, [tenantId, days, after, limit])).rows;
}

export type RemovedDelivery = { readonly id: string; readonly eventRow: string; readonly status: string };

/** Removes those of the deliveries that have ended and are not locked. @param ids at least one */
export async function removeEnded(unit: Queryable, ids: readonly string[]): Promise<RemovedDelivery[]> {
  return (await unit.query<RemovedDelivery>(REMOVE, [ids, ...boundsOf(ids)])).rows;
}
