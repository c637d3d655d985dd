// SQL that removes events of one tenant before their partition goes.
import { boundsOf } from '../../platform/database/partitions.ts';
import { many } from '../../platform/database/statements.ts';
import type { Queryable } from '../../platform/database/transaction.ts';
import { KEPT_FROM, type OldRows } from '../rows/removal.store.ts';

/**
 * Reads old events in the order of their event ids, the first after `after`; `due`: no delivery is kept. That is the
 * order of the one index that begins with the tenant and has all events. The bounds of a delivery's id, which begins
 * like its event's, let the subquery open one partition; OFFSET keeps it a subquery.
 */
export const pageOfOld = many<
  { readonly id: string; readonly eventId: string; readonly due: boolean },
  OldRows
>(`
SELECT id, event_id, NOT EXISTS (
  SELECT 1 FROM deliveries d WHERE d.event_row = e.id AND d.id BETWEEN (left(e.id::text, 15) || '000-0000-000000000000')::uuid
    AND (left(e.id::text, 15) || 'fff-ffff-ffffffffffff')::uuid OFFSET 0
) AS due
FROM events e WHERE tenant_id = $1 AND id < ${KEPT_FROM} AND event_id > $3 ORDER BY event_id LIMIT $4`);

type RemovedEvent = { readonly id: string; readonly deliveries: number };

const removeWithin = many<RemovedEvent, [ids: readonly string[], least: string, greatest: string]>(`
DELETE FROM events WHERE id = ANY ($1::uuid[]) AND id BETWEEN $2 AND $3 RETURNING id, coalesce(deliveries, 0) AS deliveries`);

/** @param ids at least one @returns the events that there were, each with the number of deliveries that it had */
export function remove(unit: Queryable, ids: readonly string[]): Promise<RemovedEvent[]> {
  return removeWithin(unit, ids, ...boundsOf(ids));
}
