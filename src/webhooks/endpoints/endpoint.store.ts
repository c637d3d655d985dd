// All SQL of endpoints. Whatever opens an endpoint takes its row FOR UPDATE and adds one to its epoch, so that no wake-up can be lost.
import type { Queryable } from '../../platform/database/transaction.ts';

/** An endpoint as it is shown: `state` is `held` only while the hold lasts; `holdUntil`: when the next attempt may begin; `waiting` counts deliveries that have not ended. */
export type EndpointRow = {
  readonly subscriptionId: string;
  readonly active: boolean;
  readonly deleted: boolean;
  readonly state: 'open' | 'held' | 'down';
  readonly holdUntil: Date | null;
  /** Who has it held: `operator` the operator of this service, `endpoint` the endpoint or what was decided for it alone. */
  readonly heldBy: 'operator' | 'endpoint' | null;
  readonly failingSince: Date | null;
  readonly epoch: number;
  readonly waiting: number;
};

/** A change of an endpoint. `tell`: the workflow that watches over it must hear of it. */
export type EndpointTelling = { readonly tenantId: string; readonly tell: boolean };

/** The same of one among several endpoints. */
export type EndpointChange = EndpointTelling & { readonly subscriptionId: string };

/** What is waiting is counted up to this many: a display needs no more, and a backlog must not slow it down. */
const MOST_WAITING = 10_000;

// What has waited goes out at the pace of an endpoint that comes back.
export const PACED = 'permits = 1, released = 0, permits_at = now()';

const TELLING = 'RETURNING tenant_id AS "tenantId", watched AS tell';

// With its activation an endpoint's outage begins anew: neither warnings nor another deactivation follow from what was before. One that is
// down is probed at once.
const SET_ACTIVE = `
UPDATE endpoints SET active = $2, ${PACED}, updated_at = now(), epoch = epoch + CASE WHEN $2 THEN 1 ELSE 0 END,
  failing_since = CASE WHEN $2 AND failing_since IS NOT NULL THEN now() ELSE failing_since END,
  warned = CASE WHEN $2 THEN 0 ELSE warned END, warned_for = CASE WHEN $2 THEN NULL ELSE warned_for END,
  probe_step = CASE WHEN $2 THEN 0 ELSE probe_step END,
  probe_at = CASE WHEN $2 AND probe_at > now() THEN now() ELSE probe_at END
WHERE subscription_id = $1 AND NOT deleted AND active <> $2
  AND ($3::int IS NULL OR failing_since IS NOT NULL
    AND greatest(failing_since, tenant_held_until, host_held_until) <= now() - $3::int * interval '1 day')
RETURNING tenant_id AS "tenantId", watched OR $2 AND (state <> 'open' OR failures_in_a_row > 0) AS tell`;

// Endpoints of one tenant, locked in order of their ids, as by everybody who locks several. Inactive ones too: they may be activated meanwhile.
const OF_TENANT = `
WITH mine AS (
  SELECT p.subscription_id FROM subscriptions s JOIN endpoints p ON p.subscription_id = s.id
  WHERE s.tenant_id = $1 AND s.deleted_at IS NULL ORDER BY p.subscription_id FOR UPDATE OF p
)`;
const CHANGES = 'RETURNING p.subscription_id AS "subscriptionId", p.tenant_id AS "tenantId"';

const HOLD_TENANT = `${OF_TENANT}
UPDATE endpoints p SET tenant_held_until = 'infinity', epoch = epoch + 1, ${PACED}, updated_at = now()
FROM mine WHERE p.subscription_id = mine.subscription_id ${CHANGES}, p.watched AS tell`;

const RELEASE_TENANT = `${OF_TENANT}
UPDATE endpoints p SET tenant_held_until = now(), epoch = epoch + 1, ${PACED}, updated_at = now()
FROM mine WHERE p.subscription_id = mine.subscription_id ${CHANGES},
  p.active AND (p.watched OR p.state <> 'open' OR p.failures_in_a_row > 0) AS tell`;

const READ = `
SELECT p.subscription_id AS "subscriptionId", p.active, p.deleted, p.failing_since AS "failingSince", p.epoch,
  CASE WHEN p.host_held_until > now() THEN 'held'
    WHEN p.state = 'held' AND (p.hold_until IS NULL OR p.hold_until <= now()) THEN 'open' ELSE p.state END AS state,
  CASE WHEN p.host_held_until > now() THEN 'operator' WHEN p.hold_until > now() THEN 'endpoint' END AS "heldBy",
  CASE WHEN p.host_held_until = 'infinity' THEN NULL ELSE greatest(CASE WHEN p.host_held_until > now() THEN p.host_held_until END,
    CASE WHEN p.hold_until > now() THEN p.hold_until END, CASE WHEN p.probe_at > now() THEN p.probe_at END) END AS "holdUntil",
  (SELECT count(*)::int FROM (
     SELECT 1 FROM deliveries d
     WHERE d.subscription_id = p.subscription_id AND d.status IN ('pending', 'retrying') LIMIT ${MOST_WAITING}
   ) AS unfinished) AS waiting
FROM endpoints p WHERE p.subscription_id = ANY($1::uuid[])`;

export async function insert(
  unit: Queryable,
  endpoint: { subscriptionId: string; tenantId: string; active: boolean; rate: number | null },
): Promise<void> {
  await unit.query(
    `INSERT INTO endpoints (subscription_id, tenant_id, active, rate, tenant_held_until)
         SELECT $1, $2, $3, $4, CASE WHEN tenant.suspended_at IS NOT NULL THEN 'infinity'::timestamptz END
         FROM (SELECT suspended_at FROM tenants WHERE id = $2 FOR SHARE) AS tenant
         ON CONFLICT (subscription_id) DO NOTHING`,
    [endpoint.subscriptionId, endpoint.tenantId, endpoint.active, endpoint.rate],
  );
}

/** What the endpoint had saved up is kept, up to one attempt. */
export async function setRate(unit: Queryable, subscriptionId: string, rate: number | null): Promise<void> {
  await unit.query(
    `UPDATE endpoints SET rate = $2, tokens = least(coalesce(endpoint_tokens(endpoints), 1), 1), tokens_at = now(), updated_at = now()
         WHERE subscription_id = $1 AND NOT deleted AND rate IS DISTINCT FROM $2`,
    [subscriptionId, rate],
  );
}

/**
 * @param failingForDays only an endpoint whose endpoint has failed for so long
 * @returns undefined when the flag already was so
 */
export async function setActive(
  unit: Queryable,
  subscriptionId: string,
  { active, failingForDays = null }: { active: boolean; failingForDays?: number | null | undefined },
): Promise<EndpointTelling | undefined> {
  return (await unit.query<EndpointTelling>(SET_ACTIVE, [subscriptionId, active, failingForDays])).rows[0];
}

export async function markDeleted(
  unit: Queryable,
  subscriptionId: string,
): Promise<EndpointTelling | undefined> {
  const { rows } = await unit.query<EndpointTelling>(
    `UPDATE endpoints SET deleted = true, active = false, updated_at = now() WHERE subscription_id = $1 ${TELLING}`,
    [subscriptionId],
  );
  return rows[0];
}

/** Opens a held or failing endpoint at once, for one attempt first; leaves an open one as it is. */
export async function open(unit: Queryable, subscriptionId: string): Promise<EndpointTelling | undefined> {
  const { rows } = await unit.query<EndpointTelling>(
    `UPDATE endpoints SET state = 'open', hold_until = NULL, probe_at = NULL, epoch = epoch + 1, ${PACED}, updated_at = now()
         WHERE subscription_id = $1 AND NOT deleted AND (state <> 'open' OR hold_until IS NOT NULL) ${TELLING}`,
    [subscriptionId],
  );
  return rows[0];
}

/** Closes all endpoints of a tenant until `releaseTenant`, whatever else opens or closes them. */
export async function holdTenant(unit: Queryable, tenantId: string): Promise<EndpointChange[]> {
  return (await unit.query<EndpointChange>(HOLD_TENANT, [tenantId])).rows;
}

/** What waits in them goes out as from an endpoint that comes back. */
export async function releaseTenant(unit: Queryable, tenantId: string): Promise<EndpointChange[]> {
  return (await unit.query<EndpointChange>(RELEASE_TENANT, [tenantId])).rows;
}

/** Endpoints that somebody is changing are left out: the next figure will do. */
export async function saveSpeeds(
  queryable: Queryable,
  speeds: readonly { endpoint: string; p90Ms: number }[],
): Promise<void> {
  await queryable.query(
    `UPDATE endpoints SET p90_ms = w.p90_ms
         FROM (SELECT w.endpoint, w.p90_ms FROM unnest($1::uuid[], $2::int[]) AS w (endpoint, p90_ms)
               JOIN endpoints p ON p.subscription_id = w.endpoint FOR UPDATE OF p SKIP LOCKED) AS w
         WHERE endpoints.subscription_id = w.endpoint`,
    [speeds.map(({ endpoint }) => endpoint), speeds.map(({ p90Ms }) => p90Ms)],
  );
}

export async function read(queryable: Queryable, subscriptionIds: readonly string[]): Promise<EndpointRow[]> {
  const { rows } = await queryable.query<EndpointRow>(READ, [subscriptionIds]);
  return rows;
}
