// SQL of a probe that somebody asks for: a closed endpoint lets one attempt begin now.

import { NIL } from 'uuid';
import { changed } from '../../platform/database/statements.ts';
import type { Queryable } from '../../platform/database/transaction.ts';
import { hasten } from '../rows/delivery-row.store.ts';
import { ofEndpoint, PACED } from './endpoint.store.ts';
import type { EndpointName } from './endpoint-state.ts';

/** The most deliveries whose next attempt is made due with the probe. */
const MOST_HASTENED = 1_000;

// Neither the tenant nor the host is held. The column rounds up to a millisecond, which would not have come yet.
const open = ofEndpoint(
  changed<[subscriptionId: string, tenantId: string]>(`
UPDATE endpoints SET hold_until = NULL, probe_at = CASE WHEN state = 'down' THEN date_trunc('milliseconds', now()) END, epoch = epoch + 1, ${PACED}, updated_at = now()
WHERE subscription_id = $1 AND tenant_id = $2 AND active AND NOT deleted
  AND coalesce(greatest(tenant_held_until, host_held_until) <= now(), true) AND NOT endpoint_is_open(endpoints)`),
);

/**
 * Opens a closed endpoint, paced: one attempt may begin now, and each success lets more begin. Deliveries that wait for
 * their next attempt are due now too, so that there is one to begin, and the others follow it.
 * @returns false when it is open, inactive, deleted, or held with its host or its tenant
 */
export async function probeNow(unit: Queryable, endpoint: EndpointName): Promise<boolean> {
  if (!(await open(unit, endpoint))) return false;
  await hasten(unit, [endpoint.subscriptionId], { after: NIL, limit: MOST_HASTENED });
  return true;
}
