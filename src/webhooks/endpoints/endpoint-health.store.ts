// SQL by which attempts change their endpoint: holds, outages, and the pacing afterwards. The statements run in the
// transaction that records the attempt.
import type { Queryable } from '../../platform/database/transaction.ts';
import { CHANGED, type EndpointChange } from './endpoint.store.ts';
import {
  type EndpointFailure,
  type EndpointHealth,
  isFirstClosing,
  judgeFailure,
} from './endpoint-judgement.ts';
import type { RecoverySettings } from './recovery-settings.ts';

/** A success is noted again when the last one that was noted is older: what a failure means counts from it. */
export const RENEWED_AFTER = "interval '5 seconds'";

const LOCK = `
SELECT state, failures_in_a_row AS "failuresInARow", failing_since AS "failingSince", failing_deliveries AS "failingDeliveries",
  recovered_at AS "recoveredAt", hold_until AS "holdUntil", probe_step AS "probeStep", probe_at AS "probeAt", permits, released,
  epoch, watched, now(), tenant_id AS "tenantId"
FROM endpoints WHERE subscription_id = $1 AND NOT deleted FOR UPDATE`;

// The latest delivery of the day before the failures. Bounds of parameters open only the partitions between them.
const TOOK_FIRST = `
SELECT status = 'delivered' AND attempt_count = 1 AS took FROM deliveries
WHERE tenant_id = $1 AND subscription_id = $2
  AND id BETWEEN uuid_of_time($3::timestamptz - interval '1 day') AND uuid_of_time($3::timestamptz - interval '1 second')
ORDER BY id DESC LIMIT 1`;

const SAVE = `
UPDATE endpoints p SET state = $2, failures_in_a_row = $3, failing_since = $4, failing_deliveries = $5, hold_until = $6,
  probe_step = $7, probe_at = $8, permits = $9, released = $10, epoch = $11, watched = $12, last_error = $13,
  permits_at = now(), updated_at = now()
WHERE subscription_id = $1
${CHANGED}, $14::boolean AS signal`;

// A 2xx opens an endpoint that is down; a hold continues until its end. Each success of a paced endpoint lets two
// more attempts begin. After as many successes as its cap the endpoint is no longer paced. The pacing does not change
// while the endpoint, its tenant or its host is held. The workflow is signalled at the first success and at the end of
// the pacing.
const RECOVER = `
WITH endpoint AS (
  SELECT *, hold_until > now() IS TRUE AS held, greatest(tenant_held_until, host_held_until) > now() IS TRUE AS kept FROM endpoints
  WHERE subscription_id = $1 AND NOT deleted AND (failures_in_a_row > 0 OR permits IS NOT NULL OR state <> 'open' OR recovered_at < now() - ${RENEWED_AFTER}) FOR UPDATE
)
UPDATE endpoints p SET
  recovered_at = now(), failures_in_a_row = 0, failing_since = NULL, failing_deliveries = '{}', probe_step = 0, probe_at = NULL, last_error = NULL,
  state = CASE WHEN endpoint.held THEN 'held' ELSE 'open' END,
  hold_until = CASE WHEN endpoint.held THEN p.hold_until END,
  permits = CASE WHEN endpoint.held OR endpoint.kept THEN p.permits WHEN p.released + 1 >= p.in_flight_cap THEN NULL ELSE p.permits + 2 END,
  released = CASE WHEN p.permits IS NULL OR endpoint.held OR endpoint.kept OR p.released + 1 >= p.in_flight_cap THEN 0 ELSE p.released + 1 END,
  permits_at = now(), updated_at = now()
FROM endpoint WHERE p.subscription_id = endpoint.subscription_id
${CHANGED}, p.watched AND (endpoint.failures_in_a_row > 0 OR endpoint.state <> p.state OR endpoint.permits IS NOT NULL AND p.permits IS NULL) AS signal`;

type LockedHealth = Omit<EndpointHealth, 'takesFirst'> & { readonly now: Date; readonly tenantId: string };

/** @returns whether the receiver took the first attempt of the latest delivery from before its failures */
async function tookFirst(
  unit: Queryable,
  tenantId: string,
  subscriptionId: string,
  failingSince: Date | null,
): Promise<boolean> {
  const values = [tenantId, subscriptionId, failingSince];
  return (await unit.query<{ took: boolean }>(TOOK_FIRST, values)).rows[0]?.took === true;
}

/** Each function runs in the caller's transaction. */
export function createEndpointHealthStore(settings: RecoverySettings) {
  return {
    /**
     * Counts failures of one endpoint against it, in their order, which may hold or close it.
     * @returns undefined for a deleted endpoint
     */
    fail: async (
      unit: Queryable,
      subscriptionId: string,
      failures: readonly EndpointFailure[],
    ): Promise<(EndpointChange & { readonly opened: boolean }) | undefined> => {
      const locked = await unit.query<LockedHealth>(LOCK, [subscriptionId]);
      const [found] = locked.rows;
      if (found === undefined) return undefined;
      const { now, tenantId, ...row } = found;
      const takesFirst =
        isFirstClosing(row) && (await tookFirst(unit, tenantId, subscriptionId, row.failingSince));
      let next: EndpointHealth = { ...row, takesFirst };
      let signal = false;
      for (const failure of failures) {
        const judged = judgeFailure(next, failure, now, settings);
        next = judged.next;
        signal ||= judged.signal;
      }
      const values = [
        subscriptionId,
        next.state,
        next.failuresInARow,
        next.failingSince,
        next.failingDeliveries,
        next.holdUntil,
        next.probeStep,
        next.probeAt,
        next.permits,
        next.released,
        next.epoch,
        next.watched,
        failures.at(-1)?.error,
        signal,
      ];
      const [change] = (await unit.query<EndpointChange>(SAVE, values)).rows;
      return change && { ...change, opened: row.state !== 'open' && next.state === 'open' };
    },

    /** Notes a 2xx of the endpoint. @returns undefined for an endpoint without failures, which is not changed */
    recover: async (unit: Queryable, subscriptionId: string): Promise<EndpointChange | undefined> =>
      (await unit.query<EndpointChange>(RECOVER, [subscriptionId])).rows[0],
  };
}

export type EndpointHealthStore = ReturnType<typeof createEndpointHealthStore>;
