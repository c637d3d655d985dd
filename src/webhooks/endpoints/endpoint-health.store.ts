// SQL by which attempts change their endpoint: holds, outages, and the pace afterwards. Each statement runs in the
// transaction of the attempt's record.
import type { Queryable } from '../../platform/database/transaction.ts';
import { CHANGED, type EndpointChange } from './endpoint.store.ts';
import { REFUSALS, type RecoverySettings } from './recovery-settings.ts';

/** A failed attempt. `holdMs`: the pause that the receiver asked for, null without one. */
export type EndpointFailure = {
  readonly subscriptionId: string;
  readonly deliveryId: string;
  readonly holdMs: number | null;
  /** The attempt was the probe of an endpoint that is down. */
  readonly probe: boolean;
  /** The receiver refused this delivery for good. */
  readonly refused: boolean;
  /** Its code, such as `http:503`. */
  readonly error: string;
};

/**
 * After so many failures in a row a workflow watches, even if the endpoint stays open: it may get one delivery alone.
 */
const WATCHED_FROM = 3;

// A failure that closes the endpoint leaves one permit, for the attempt that begins when it opens. A failure that does
// not close it gives its permit back, so that one undeliverable delivery does not stop the others. An attempt that
// began before the endpoint went down and fails late is only counted. The workflow is signalled when an open endpoint
// closes, when a probe fails, and when failures begin that no workflow watches; not for refusals ($9) by an open
// endpoint, after which no delivery waits. The half millisecond: the column keeps whole ones and rounds, and a hold
// must not end early.
const FAIL = `
WITH endpoint AS (
  SELECT p.*, cardinality(p.failing_deliveries) + CASE WHEN $2 = ANY(p.failing_deliveries) THEN 0 ELSE 1 END AS deliveries
  FROM endpoints p WHERE p.subscription_id = $1 AND NOT p.deleted FOR UPDATE
), judged AS (
  SELECT endpoint.*, state = 'down' AND $4 AS probed, $3::float8 IS NOT NULL AS holds,
    state <> 'down' AND failures_in_a_row + 1 >= $5 AND deliveries >= $6 AS falls
  FROM endpoint
), next AS (
  SELECT judged.*, falls OR probed OR holds AS closes,
    falls OR probed OR holds AND (hold_until IS NULL OR hold_until <= now())
      OR NOT watched AND NOT $9 AND failures_in_a_row + 1 >= ${WATCHED_FROM} AS signals,
    CASE WHEN falls THEN 0 WHEN probed THEN least(probe_step + 1, cardinality($7::float8[]) - 1) ELSE probe_step END AS step
  FROM judged
)
UPDATE endpoints p SET
  failures_in_a_row = p.failures_in_a_row + 1,
  failing_since = coalesce(p.failing_since, now()),
  failing_deliveries = CASE WHEN $2 = ANY(p.failing_deliveries) OR cardinality(p.failing_deliveries) >= 3
    THEN p.failing_deliveries ELSE p.failing_deliveries || $2::uuid END,
  state = CASE WHEN p.state = 'down' OR next.falls THEN 'down' WHEN next.holds THEN 'held' ELSE p.state END,
  hold_until = greatest(p.hold_until, now() + ($3::float8 + 0.5) * interval '1 millisecond'),
  probe_step = next.step,
  probe_at = CASE WHEN next.falls OR next.probed
    THEN now() + ($7::float8[])[next.step + 1] * interval '1 millisecond' ELSE p.probe_at END,
  permits = CASE WHEN next.closes THEN 1 WHEN p.state = 'down' THEN p.permits ELSE p.permits + 1 END,
  permits_at = now(),
  released = CASE WHEN next.closes THEN 0 ELSE p.released END,
  epoch = p.epoch + CASE WHEN next.closes THEN 1 ELSE 0 END,
  last_error = $8, watched = p.watched OR next.signals,
  updated_at = now()
FROM next WHERE p.subscription_id = next.subscription_id
${CHANGED}, next.signals AS signal`;

// A 2xx opens an endpoint that is down; a hold that has not ended stays. Each success of an endpoint that comes back
// lets two more attempts begin; after as many as it may have under way it is no longer paced. While an operator holds
// it the pace stays as it is. The workflow is signalled at the first success, and when the endpoint is no longer paced.
const RECOVER = `
WITH endpoint AS (
  SELECT *, hold_until > now() IS TRUE AS held, greatest(tenant_held_until, host_held_until) > now() IS TRUE AS kept FROM endpoints
  WHERE subscription_id = $1 AND NOT deleted AND (failures_in_a_row > 0 OR permits IS NOT NULL OR state <> 'open') FOR UPDATE
)
UPDATE endpoints p SET
  failures_in_a_row = 0, failing_since = NULL, failing_deliveries = '{}', probe_step = 0, probe_at = NULL, last_error = NULL,
  state = CASE WHEN endpoint.held THEN 'held' ELSE 'open' END,
  hold_until = CASE WHEN endpoint.held THEN p.hold_until END,
  permits = CASE WHEN endpoint.held OR endpoint.kept THEN p.permits WHEN p.released + 1 >= p.in_flight_cap THEN NULL ELSE p.permits + 2 END,
  released = CASE WHEN p.permits IS NULL OR endpoint.held OR endpoint.kept OR p.released + 1 >= p.in_flight_cap THEN 0 ELSE p.released + 1 END,
  permits_at = now(), updated_at = now()
FROM endpoint WHERE p.subscription_id = endpoint.subscription_id
${CHANGED}, p.watched AND (endpoint.failures_in_a_row > 0 OR endpoint.state <> p.state OR p.permits IS NULL) AS signal`;

/** SQL of an endpoint's health; every function runs in the caller's transaction. */
export function createEndpointHealthStore({ failures, deliveries, probeDelaysMs }: RecoverySettings) {
  return {
    /**
     * Counts a failure against the endpoint, which may hold or close it.
     * @returns undefined for an endpoint that is gone
     */
    fail: async (
      unit: Queryable,
      { subscriptionId, deliveryId, holdMs, probe, refused, error }: EndpointFailure,
    ): Promise<EndpointChange | undefined> => {
      const closing = [refused ? REFUSALS : failures, deliveries, probeDelaysMs];
      const values = [subscriptionId, deliveryId, holdMs, probe, ...closing, error, refused];
      return (await unit.query<EndpointChange>(FAIL, values)).rows[0];
    },

    /** Notes that the endpoint has taken a delivery. @returns undefined for an endpoint that had not failed */
    recover: async (unit: Queryable, subscriptionId: string): Promise<EndpointChange | undefined> =>
      (await unit.query<EndpointChange>(RECOVER, [subscriptionId])).rows[0],
  };
}

export type EndpointHealthStore = ReturnType<typeof createEndpointHealthStore>;
