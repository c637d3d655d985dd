// SQL that removes ended deliveries of one tenant before their partition goes.
import { KEPT_DAYS, keptFrom } from '../../platform/database/kept-days.ts';
import { boundsOf } from '../../platform/database/partitions.ts';
import { many, value } from '../../platform/database/statements.ts';
import type { Queryable } from '../../platform/database/transaction.ts';
import type { DeliveryRow } from './delivery.model.ts';

/** A part of a tenant's rows: those after `after`, accepted before the last `days` whole UTC days. */
export type OldRows = [tenantId: string, days: number, after: string, limit: number];

/** The first id of the days that are kept. `$2`: days. */
export const KEPT_FROM = `uuid_of_time(${keptFrom('$2')})`;

/** Reads old deliveries in the order of their ids; `due`: ended, and no receipt waits for them. */
export const pageOfOld = many<{ readonly id: string; readonly due: boolean }, OldRows>(`
SELECT id, status NOT IN ('pending', 'retrying')
  AND NOT EXISTS (SELECT 1 FROM receipts r WHERE r.id = d.event_row AND r.completed_at IS NULL OFFSET 0) AS due
FROM deliveries d WHERE tenant_id = $1 AND id < ${KEPT_FROM} AND id > $3 ORDER BY id LIMIT $4`);

/**
 * Returns whether a day's rows stay: a delivery is under way, a receipt is open, or some went minutes ago. A receipt
 * that is older than any delivery keeps nothing. An account is not counted while rows of its day go.
 */
export const keepsDay = value<boolean, [day: string]>(`
WITH ids AS (
  SELECT uuid_of_time($1::date::timestamp AT TIME ZONE 'UTC') AS low, uuid_of_time(($1::date + 1)::timestamp AT TIME ZONE 'UTC') AS high
)
SELECT EXISTS (SELECT FROM deliveries, ids WHERE status IN ('pending', 'retrying') AND id >= low AND id < high)
  OR EXISTS (SELECT FROM receipts, ids WHERE completed_at IS NULL AND id >= low AND id < high)
    AND $1::date >= (now() AT TIME ZONE 'UTC')::date - ${KEPT_DAYS}
  OR EXISTS (SELECT FROM delivery_accounts WHERE day = $1::date AND gone_at > now() - interval '5 minutes') AS kept`);

type RemovedDelivery = Pick<DeliveryRow, 'id' | 'eventRow' | 'status'>;

const remove = many<RemovedDelivery, [ids: readonly string[], least: string, greatest: string]>(`
DELETE FROM deliveries WHERE id BETWEEN $2 AND $3 AND id IN (
  SELECT id FROM deliveries WHERE id = ANY ($1::uuid[]) AND id BETWEEN $2 AND $3 AND status NOT IN ('pending', 'retrying')
  ORDER BY id FOR UPDATE SKIP LOCKED
) RETURNING id, event_row, status`);

/** Removes those of the deliveries that have ended and are not locked. @param ids at least one */
export function removeEnded(unit: Queryable, ids: readonly string[]): Promise<RemovedDelivery[]> {
  return remove(unit, ids, ...boundsOf(ids));
}
