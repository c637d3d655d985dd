// SQL that removes ended deliveries of one tenant before their partition goes.
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
export const KEPT_FROM = `uuid_of_time(((now() AT TIME ZONE 'UTC')::date - $2::int)::timestamp AT TIME ZONE 'UTC')`;

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
