// SQL by which attempts change their endpoint: holds, outages, and the pacing afterwards. The statements run in the
// transaction that records the attempt.
import type { Queryable } from '../../platform/database/transaction.ts';
import { CHANGED, type EndpointChange } from './endpoint.store.ts';
import { REFUSALS, REFUSALS_COUNT_AFTER, type RecoverySettings } from './recovery-settings.ts';

/**
 * A failed attempt. `holdMs` is the wait that the receiver asked for, in milliseconds; null without one. `limited`: the
 * receiver refuses the rate (429), and not only this attempt. `startedAt` is ISO 8601 by the database's clock. `first`:
 * it was the delivery's first attempt.
 */
export type EndpointFailure = {
  readonly subscriptionId: string;
  readonly deliveryId: string;
  readonly startedAt: string;
  readonly holdMs: number | null;
  readonly limited: boolean;
  readonly probe: boolean;
  readonly refused: boolean;
  readonly error: string;
  readonly first?: boolean | undefined;
};

/**
 * After so many failures in a row the endpoint's workflow is started, even if the endpoint stays open. The endpoint may
 * have only one delivery, and would then never count as down.
 */
const WATCHED_FROM = 3;

/**
 * For so long after a success that followed a failure, a 503 with `Retry-After` delays only its own delivery. A
 * receiver that refuses some deliveries and takes others is not away.
 */
const WORKS_FOR = "interval '5 seconds'";

/**
 * For so long after such a success a failed first attempt says nothing of the endpoint: a receiver may refuse each
 * first attempt, and the retries that it takes come 5 s after the attempts that it refuses, or later under load.
 */
export const PROVEN_FOR = "interval '15 seconds'";

/** A success is noted again when the last one that was noted is older: PROVEN_FOR counts from it. */
export const RENEWED_AFTER = "interval '5 seconds'";

// A failure that closes the endpoint sets one permit, for the attempt that begins when it opens. A failure that does
// not close it returns its permit, so that one undeliverable delivery does not stop the others. An attempt that began
// before the endpoint went down and fails later is only counted. The workflow is signalled when an open endpoint
// closes, when a probe fails, and when an unwatched endpoint has failed WATCHED_FROM times in a row. A refusal ($9) is
// excused, as its delivery's own fault: it closes the endpoint later ($5) and sends no signal. When nothing has
// succeeded for REFUSALS_COUNT_AFTER it counts as any other failure ($14). Half a millisecond is added because the
// column rounds to whole ones, and a hold may not end early.
const FAIL = `
WITH endpoint AS (
  SELECT p.*, cardinality(p.failing_deliveries) + CASE WHEN $2 = ANY(p.failing_deliveries) THEN 0 ELSE 1 END AS deliveries,
    $9 AND coalesce(p.failing_since, $11::timestamptz) > now() - ${REFUSALS_COUNT_AFTER} AS excused
  FROM endpoints p WHERE p.subscription_id = $1 AND NOT p.deleted FOR UPDATE
), judged AS (
  SELECT endpoint.*, state = 'down' AND $4 AS probed,
    $3::float8 IS NOT NULL AND ($12 OR recovered_at IS NULL OR recovered_at < now() - CASE WHEN $13 THEN ${PROVEN_FOR} ELSE ${WORKS_FOR} END) AS holds,
    state <> 'down' AND NOT ($13 AND recovered_at IS NOT NULL AND recovered_at > now() - ${PROVEN_FOR}) AND failures_in_a_row + 1 >= CASE WHEN excused THEN $5::int ELSE $14::int END AND deliveries >= $6
      AND coalesce(failing_since, $11::timestamptz) <= now() - $10::float8 * interval '1 millisecond' AS falls
  FROM endpoint
), next AS (
  SELECT judged.*, falls OR probed OR holds AS closes,
    falls OR probed OR holds AND (hold_until IS NULL OR hold_until <= now())
      OR NOT watched AND NOT excused AND failures_in_a_row + 1 >= ${WATCHED_FROM} AS signals,
    CASE WHEN falls THEN 0 WHEN probed THEN least(probe_step + 1, cardinality($7::float8[]) - 1) ELSE probe_step END AS step
  FROM judged
)
UPDATE endpoints p SET
  failures_in_a_row = p.failures_in_a_row + 1,
  failing_since = coalesce(p.failing_since, $11::timestamptz),
  failing_deliveries = CASE WHEN $2 = ANY(p.failing_deliveries) OR cardinality(p.failing_deliveries) >= 3
    THEN p.failing_deliveries ELSE p.failing_deliveries || $2::uuid END,
  state = CASE WHEN p.state = 'down' OR next.falls THEN 'down' WHEN next.holds THEN 'held' ELSE p.state END,
  hold_until = CASE WHEN next.holds THEN greatest(p.hold_until, now() + ($3::float8 + 0.5) * interval '1 millisecond') ELSE p.hold_until END,
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

/** Each function runs in the caller's transaction. */
export function createEndpointHealthStore({
  failures,
  deliveries,
  failingMs,
  probeDelaysMs,
}: RecoverySettings) {
  return {
    /** Counts a failure against the endpoint, which may hold or close it. @returns undefined for a deleted endpoint */
    fail: async (
      unit: Queryable,
      {
        subscriptionId,
        deliveryId,
        startedAt,
        holdMs,
        limited,
        probe,
        refused,
        error,
        first = false,
      }: EndpointFailure,
    ): Promise<EndpointChange | undefined> => {
      const closing = [refused ? REFUSALS : failures, deliveries, probeDelaysMs];
      const facts = [error, refused, failingMs, startedAt, limited, first, failures];
      const values = [subscriptionId, deliveryId, holdMs, probe, ...closing, ...facts];
      return (await unit.query<EndpointChange>(FAIL, values)).rows[0];
    },

    /** Notes a 2xx of the endpoint. @returns undefined for an endpoint without failures, which is not changed */
    recover: async (unit: Queryable, subscriptionId: string): Promise<EndpointChange | undefined> =>
      (await unit.query<EndpointChange>(RECOVER, [subscriptionId])).rows[0],
  };
}

export type EndpointHealthStore = ReturnType<typeof createEndpointHealthStore>;
