// SQL of hosts: their holds, and their endpoints.
// Locks are taken in this order: a subscription, names of hosts, endpoints in id order. A transaction with an exclusive
// lock on a name may not lock a subscription afterwards.
import { changed, many, one } from '../../platform/database/statements.ts';
import type { RowOf } from '../../platform/database/table.ts';
import type { Queryable } from '../../platform/database/transaction.ts';
import type { HOST_HOLD } from './endpoint.model.ts';
import { CHANGED, type EndpointChange, PACED } from './endpoint.store.ts';
import type { FailingHost, HoldLength } from './host-hold.ts';

/** A hold in force. `until` is null for a hold without an end. */
export type HeldHost = Omit<RowOf<typeof HOST_HOLD>, 'until'> & { readonly until: Date | null };

export type HostHold = HeldHost & {
  readonly endpoints: number;
  readonly tenants: number;
};

const OF_HOST = `
FROM subscriptions s JOIN endpoints p ON p.subscription_id = s.id
WHERE host_name(s.host) = host_name($1) AND ($1 = host_name($1) OR s.host = $1) AND s.deleted_at IS NULL`;

const MINE = `
WITH mine AS (SELECT p.subscription_id, host_hold_end(s.host) AS ends ${OF_HOST} ORDER BY p.subscription_id FOR UPDATE OF p)`;

const IS_WAITED_FOR = `EXISTS (
  SELECT 1 FROM deliveries d WHERE d.subscription_id = p.subscription_id AND d.status IN ('pending', 'retrying'))`;

const CHANGES = `${CHANGED}, p.active AND NOT p.deleted AS signal`;

/** Locks the host until the transaction ends: its holds cannot change, and no subscription can move to or from it. */
export const lock = changed<[host: string]>(
  "SELECT pg_advisory_xact_lock(hashtextextended('host ' || host_name($1), 0))",
);

const putHold = changed<
  [host: string, until: Date | null, seconds: number | null, reason: string, operator: string]
>(`
INSERT INTO host_holds (host, until, reason, operator) VALUES ($1, coalesce($2::timestamptz, now() + $3::float8 * interval '1 second', 'infinity'), $4, $5)
ON CONFLICT (host) DO UPDATE SET until = excluded.until, reason = excluded.reason, operator = excluded.operator, held_at = now()`);

/** Stores a hold, in place of an earlier one. */
export async function hold(
  unit: Queryable,
  host: string,
  { length, reason, operator }: { length: HoldLength; reason: string; operator: string },
): Promise<void> {
  const until = length !== 'released' && 'until' in length ? length.until : null;
  const seconds = length !== 'released' && 'seconds' in length ? length.seconds : null;
  await putHold(unit, host, until, seconds, reason, operator);
}

/** @returns false when the host is not held */
export const end = changed<[host: string]>(
  'UPDATE host_holds SET until = now() WHERE host = $1 AND until > now()',
);

export const isHeld = changed<[host: string]>('SELECT 1 WHERE host_hold_end($1) > now()');

/** Finds the longest hold that covers a host: of its name, or of its name and port. */
export const find = one<HeldHost, [host: string]>(`
SELECT host, CASE WHEN isfinite(until) THEN until END AS until, reason, operator, held_at FROM host_holds
WHERE host IN ($1, host_name($1)) AND until > now() ORDER BY host_holds.until DESC, host LIMIT 1`);

// Inactive endpoints are included, because they may be activated during the hold.
export const holdEndpoints = many<EndpointChange, [host: string]>(`${MINE}
UPDATE endpoints p SET host_held_until = mine.ends, epoch = epoch + 1, ${PACED}, updated_at = now()
FROM mine WHERE p.subscription_id = mine.subscription_id ${CHANGES}`);

/**
 * Opens the host's endpoints, paced, unless another hold covers them. The probe of one that is down is due immediately,
 * because the operator says that the host works again.
 */
export const releaseEndpoints = many<EndpointChange, [host: string]>(`${MINE}
UPDATE endpoints p SET host_held_until = mine.ends, epoch = epoch + 1, ${PACED}, updated_at = now(),
  probe_at = CASE WHEN p.probe_at > now() THEN now() ELSE p.probe_at END
FROM mine WHERE p.subscription_id = mine.subscription_id ${CHANGES}`);

// An open endpoint is paced too, so that deliveries that become due together are not all sent together.
export const retryEndpoints = many<EndpointChange, [host: string]>(`${MINE}
UPDATE endpoints p SET state = 'open', hold_until = NULL, probe_at = NULL, probe_step = 0, epoch = epoch + 1, ${PACED}, updated_at = now()
FROM mine WHERE p.subscription_id = mine.subscription_id AND p.active AND NOT p.deleted AND ${IS_WAITED_FOR}
${CHANGES}`);

// Names are locked in one order, to prevent deadlocks.
const shareNames = changed<[hosts: readonly string[]]>(`
SELECT pg_advisory_xact_lock_shared(name) FROM (
  SELECT DISTINCT hashtextextended('host ' || host_name(host), 0) AS name FROM unnest($1::text[]) AS host ORDER BY name
) AS names`);

const applyHold = one<EndpointChange, [subscriptionId: string, host: string]>(`
UPDATE endpoints p SET host_held_until = host_hold_end($2), epoch = epoch + 1, ${PACED}, updated_at = now()
WHERE p.subscription_id = $1 AND p.host_held_until IS DISTINCT FROM host_hold_end($2)
${CHANGED}, p.active AND (p.watched OR p.host_held_until > now()) AS signal`);

/** Lists the host's endpoints for which deliveries wait: all, or those of one tenant. */
export const listWaiting = many<EndpointChange, [host: string, tenantId: string | undefined]>(`
SELECT p.subscription_id, p.tenant_id, false AS signal
${OF_HOST} AND ($2::uuid IS NULL OR p.tenant_id = $2) AND ${IS_WAITED_FOR}`);

/**
 * Applies the hold of its new host to an endpoint after the URL has changed. The former and the new host are locked, so
 * that a concurrent hold or release of them happens before or after this change.
 * @param hosts.before the host of the former URL
 * @returns undefined when nothing changes
 */
export async function follow(
  unit: Queryable,
  subscriptionId: string,
  { host, before = host }: { host: string; before?: string | undefined },
): Promise<EndpointChange | undefined> {
  await shareNames(unit, [before, host]);
  return applyHold(unit, subscriptionId, host);
}

/** Lists the holds in force, the oldest first. */
export const list = many<HostHold>(`
SELECT h.host, CASE WHEN isfinite(h.until) THEN h.until END AS until, h.reason, h.operator, h.held_at, found.*
FROM host_holds h CROSS JOIN LATERAL (
  SELECT count(*)::int AS endpoints, count(DISTINCT s.tenant_id)::int AS tenants FROM subscriptions s
  WHERE host_name(s.host) = host_name(h.host) AND (h.host = host_name(h.host) OR s.host = h.host) AND s.deleted_at IS NULL
) AS found
WHERE h.until > now() ORDER BY h.held_at, h.host`);

const findFailing = many<FailingHost, [errorClass: string | undefined, limit: number]>(`
WITH failing AS (
  SELECT s.host, p.tenant_id, p.last_error, p.failing_since, NOT endpoint_is_open(p) AS closed
  FROM endpoints p JOIN subscriptions s ON s.id = p.subscription_id
  WHERE p.failures_in_a_row > 0 AND p.active AND NOT p.deleted AND p.last_error IS NOT NULL
    AND ($1::text IS NULL OR split_part(p.last_error, ':', 1) = $1)
), counted AS (
  SELECT host, last_error AS error, count(*)::int AS endpoints FROM failing GROUP BY 1, 2
)
SELECT f.host, count(*)::int AS endpoints, count(DISTINCT f.tenant_id)::int AS tenants,
  (count(*) FILTER (WHERE f.closed))::int AS closed, min(f.failing_since) AS failing_since,
  (SELECT json_agg(json_build_object('error', c.error, 'endpoints', c.endpoints) ORDER BY c.endpoints DESC, c.error)
    FROM counted c WHERE c.host = f.host) AS errors
FROM failing f GROUP BY f.host ORDER BY endpoints DESC, f.host LIMIT $2`);

/**
 * Lists hosts whose endpoints fail, with all their codes, those with most endpoints first.
 * @param options.errorClass only such as `tls`
 */
export const listFailing = (
  queryable: Queryable,
  { errorClass, limit }: { errorClass: string | undefined; limit: number },
): Promise<FailingHost[]> => findFailing(queryable, errorClass, limit);
