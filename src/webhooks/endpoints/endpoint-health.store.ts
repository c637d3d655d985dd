// SQL by which attempts change their endpoint: holds, outages, and the pacing afterwards. The statements run in the
// transaction that records the attempt.
import { inSnakeCase } from '../../platform/columns.ts';
import { one } from '../../platform/database/statements.ts';
import { selectList } from '../../platform/database/table.ts';
import type { Queryable } from '../../platform/database/transaction.ts';
import { ENDPOINT, HEALTH_COLUMNS } from './endpoint.model.ts';
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

type LockedHealth = Omit<EndpointHealth, 'takesFirst'> & { readonly now: Date; readonly tenantId: string };

const lock = one<LockedHealth, [subscriptionId: string]>(`
SELECT ${selectList(ENDPOINT, [...HEALTH_COLUMNS, 'recoveredAt', 'tenantId'])}, now()
FROM endpoints WHERE subscription_id = $1 AND NOT deleted FOR UPDATE`);

// The latest delivery of the day before the failures. Bounds of parameters open only the partitions between them.
const tookFirst = one<
  { took: boolean },
  [tenantId: string, subscriptionId: string, failingSince: Date | null]
>(`
SELECT status = 'delivered' AND attempt_count = 1 AS took FROM deliveries
WHERE tenant_id = $1 AND subscription_id = $2
  AND id BETWEEN uuid_of_time($3::timestamptz - interval '1 day') AND uuid_of_time($3::timestamptz - interval '1 second')
ORDER BY id DESC LIMIT 1`);

const save = one<
  EndpointChange,
  [subscriptionId: string, error: string | undefined, signal: boolean, ...health: unknown[]]
>(`
UPDATE endpoints p SET ${HEALTH_COLUMNS.map((name, index) => `${inSnakeCase(name)} = $${index + 4}`).join(', ')},
  last_error = $2, permits_at = now(), updated_at = now()
WHERE subscription_id = $1
${CHANGED}, $3::boolean AS signal`);

/**
 * Notes a 2xx of the endpoint. It opens an endpoint that is down; a hold continues until its end. Each success of a
 * paced endpoint lets two more attempts begin. After as many successes as its cap the endpoint is no longer paced. The
 * pacing does not change while the endpoint, its tenant or its host is held. The workflow is signalled at the first
 * success and at the end of the pacing.
 * @returns undefined for an endpoint without failures, which is not changed
 */
const recover = one<EndpointChange, [subscriptionId: string]>(`
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
${CHANGED}, p.watched AND (endpoint.failures_in_a_row > 0 OR endpoint.state <> p.state OR endpoint.permits IS NOT NULL AND p.permits IS NULL) AS signal`);

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
      const found = await lock(unit, subscriptionId);
      if (found === undefined) return undefined;
      const { now, tenantId, ...row } = found;
      const before = isFirstClosing(row)
        ? await tookFirst(unit, tenantId, subscriptionId, row.failingSince)
        : undefined;
      let next: EndpointHealth = { ...row, takesFirst: before?.took === true };
      let signal = false;
      for (const failure of failures) {
        const judged = judgeFailure(next, failure, now, settings);
        next = judged.next;
        signal ||= judged.signal;
      }
      const health = HEALTH_COLUMNS.map((name) => next[name]);
      const change = await save(unit, subscriptionId, failures.at(-1)?.error, signal, ...health);
      return change && { ...change, opened: row.state !== 'open' && next.state === 'open' };
    },

    recover,
  };
}

export type EndpointHealthStore = ReturnType<typeof createEndpointHealthStore>;
