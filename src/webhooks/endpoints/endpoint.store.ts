// SQL of endpoints. Each statement that opens an endpoint increments its epoch under the row's lock, so that no wake-up
// is lost.
import { changed, many, one, type Statement } from '../../platform/database/statements.ts';
import type { Queryable } from '../../platform/database/transaction.ts';
import type { EndpointColumns } from './endpoint.model.ts';
import { type EndpointName, type EndpointState, endpointStateOf, type StateFacts } from './endpoint-state.ts';

/**
 * An endpoint as it is shown. `holdUntil` is when a hold ends, `nextProbeAt` when a closed endpoint lets one attempt
 * begin; null where nobody can say. `lastError` is the code of the latest failure since the last success, such as
 * `http:503`. `waiting` counts unfinished deliveries.
 */
export type EndpointRow = Pick<
  EndpointColumns,
  'subscriptionId' | 'active' | 'deleted' | 'holdUntil' | 'failingSince' | 'lastError'
> & {
  readonly state: EndpointState;
  /** `operator`: an operator holds the host. `endpoint`: only this endpoint is held. */
  readonly heldBy: 'operator' | 'endpoint' | null;
  readonly nextProbeAt: Date | null;
  readonly waiting: number;
};

type FoundRow = EndpointRow & StateFacts & { readonly holdEnds: Date | null };

/** A changed endpoint. When `signal` is true, its workflow endpointRecovery must be signalled. */
export type EndpointChange = EndpointName & { readonly signal: boolean };

/** Makes a function of an endpoint's name from a statement that begins with its two parameters. */
export const ofEndpoint =
  <Values extends readonly unknown[], Answer>(
    statement: Statement<[subscriptionId: string, tenantId: string, ...Values], Answer>,
  ) =>
  (queryable: Queryable, { tenantId, subscriptionId }: EndpointName, ...values: Values): Promise<Answer> =>
    statement(queryable, subscriptionId, tenantId, ...values);

/** Counts unfinished deliveries of the endpoint `p`, up to 10,000, so that a large backlog does not slow the read. */
export const WAITING = `
  (SELECT count(*)::int FROM (
     SELECT 1 FROM deliveries d
     WHERE d.subscription_id = p.subscription_id AND d.status IN ('pending', 'retrying') LIMIT 10000
   ) AS unfinished) AS waiting`;

/** What the state of the endpoint `p` needs beside its columns. */
export const STATE_FACTS = `
  now()::timestamptz(3) AS now, endpoint_is_open(p) AS open, endpoint_permits(p) AS permits, cardinality(p.failing_deliveries) AS failing_deliveries,
  coalesce(p.tenant_held_until > now(), false) AS suspended, coalesce(p.host_held_until > now(), false) AS host_held`;

/** Makes the endpoint paced: one attempt may begin, and each success lets more attempts begin. */
export const PACED = 'permits = 1, released = 0, permits_at = now()';

export const CHANGED = 'RETURNING p.subscription_id, p.tenant_id';

/** The endpoint has a crowd, whose retries its workflow lets begin. */
const CROWDED = 'EXISTS (SELECT 1 FROM crowded_deliveries c WHERE c.subscription_id = p.subscription_id)';

// Endpoints are locked in id order, to prevent deadlocks. Inactive endpoints are included, because they may be
// activated during the hold.
const OF_TENANT = `
WITH mine AS (
  SELECT p.subscription_id FROM subscriptions s JOIN endpoints p ON p.subscription_id = s.id
  WHERE s.tenant_id = $1 AND s.deleted_at IS NULL ORDER BY p.subscription_id FOR UPDATE OF p
)`;

/** @param held the endpoint is closed until `releaseTenant` */
export const insert = changed<
  [subscriptionId: string, tenantId: string, active: boolean, rate: number | null, held: boolean]
>(`
INSERT INTO endpoints (subscription_id, tenant_id, active, rate, tenant_held_until)
VALUES ($1, $2, $3, $4, CASE WHEN $5 THEN 'infinity'::timestamptz END) ON CONFLICT (subscription_id) DO NOTHING`);

/**
 * Sets how many attempts may begin in a second, in all processes together; null removes the limit. Of the saved tokens
 * at most one is kept.
 */
export const setRate = changed<[subscriptionId: string, rate: number | null]>(`
UPDATE endpoints SET rate = $2, tokens = least(coalesce(endpoint_tokens(endpoints), 1), 1), tokens_at = now(), updated_at = now()
WHERE subscription_id = $1 AND NOT deleted AND rate IS DISTINCT FROM $2`);

/**
 * Activates an endpoint, which begins a new outage: earlier failures cause neither warnings nor another deactivation.
 * If it is down, its probe is due immediately. Or deactivates it.
 * @param failingForDays changes only an endpoint whose attempts have all failed for so many days
 * @returns undefined when nothing changed
 */
export const setActive = one<
  EndpointChange,
  [subscriptionId: string, active: boolean, failingForDays: number | null]
>(`
UPDATE endpoints p SET active = $2, ${PACED}, updated_at = now(), epoch = epoch + CASE WHEN $2 THEN 1 ELSE 0 END,
  failing_since = CASE WHEN $2 AND failing_since IS NOT NULL THEN now() ELSE failing_since END,
  warned = CASE WHEN $2 THEN 0 ELSE warned END, warned_for = CASE WHEN $2 THEN NULL ELSE warned_for END,
  probe_step = CASE WHEN $2 THEN 0 ELSE probe_step END,
  probe_at = CASE WHEN $2 AND probe_at > now() THEN now() ELSE probe_at END
WHERE subscription_id = $1 AND NOT deleted AND active <> $2
  AND ($3::int IS NULL OR failing_since IS NOT NULL
    AND greatest(failing_since, tenant_held_until, host_held_until) <= now() - $3::int * interval '1 day')
${CHANGED}, watched OR $2 AND (state <> 'open' OR failures_in_a_row > 0 OR ${CROWDED}) AS signal`);

export const markDeleted = one<EndpointChange, [subscriptionId: string]>(`
UPDATE endpoints p SET deleted = true, active = false, updated_at = now() WHERE subscription_id = $1
${CHANGED}, watched AS signal`);

/** Opens a held or failing endpoint, paced. An open endpoint is not changed. */
export const open = one<EndpointChange, [subscriptionId: string]>(`
UPDATE endpoints p SET state = 'open', hold_until = NULL, probe_at = NULL, epoch = epoch + 1, ${PACED}, updated_at = now()
WHERE subscription_id = $1 AND NOT deleted AND (state <> 'open' OR hold_until IS NOT NULL)
${CHANGED}, watched AS signal`);

/** Closes all endpoints of a tenant until `releaseTenant`. */
export const holdTenant = many<EndpointChange, [tenantId: string]>(`${OF_TENANT}
UPDATE endpoints p SET tenant_held_until = 'infinity', epoch = epoch + 1, ${PACED}, updated_at = now()
FROM mine WHERE p.subscription_id = mine.subscription_id ${CHANGED}, p.watched AS signal`);

/** Opens a tenant's endpoints, paced, unless they are also closed for another reason. */
export const releaseTenant = many<EndpointChange, [tenantId: string]>(`${OF_TENANT}
UPDATE endpoints p SET tenant_held_until = now(), epoch = epoch + 1, ${PACED}, updated_at = now()
FROM mine WHERE p.subscription_id = mine.subscription_id ${CHANGED},
  p.active AND (p.watched OR p.state <> 'open' OR p.failures_in_a_row > 0 OR ${CROWDED}) AS signal`);

const noteSpeeds = changed<[endpoints: readonly string[], p90Ms: readonly number[]]>(`
UPDATE endpoints SET p90_ms = w.p90_ms
FROM (SELECT w.endpoint, w.p90_ms FROM unnest($1::uuid[], $2::int[]) AS w (endpoint, p90_ms)
      JOIN endpoints p ON p.subscription_id = w.endpoint FOR UPDATE OF p SKIP LOCKED) AS w
WHERE endpoints.subscription_id = w.endpoint`);

/**
 * Stores how fast receivers answer, for processes that have made no attempts to them. Locked endpoints are skipped; a
 * later figure replaces the missing one.
 */
export async function saveSpeeds(
  queryable: Queryable,
  speeds: readonly { endpoint: string; p90Ms: number }[],
): Promise<void> {
  const endpoints = speeds.map(({ endpoint }) => endpoint);
  await noteSpeeds(
    queryable,
    endpoints,
    speeds.map(({ p90Ms }) => p90Ms),
  );
}

const find = many<FoundRow, [subscriptionIds: readonly string[]]>(`
SELECT p.subscription_id, p.active, p.deleted, p.state, p.failing_since, p.last_error,
  ${STATE_FACTS}, endpoint_opens_at(p) AS next_probe_at, p.hold_until,
  CASE WHEN p.host_held_until > now() THEN 'operator' WHEN p.hold_until > now() THEN 'endpoint' END AS held_by,
  CASE WHEN p.host_held_until = 'infinity' THEN NULL ELSE greatest(CASE WHEN p.host_held_until > now() THEN p.host_held_until END,
    CASE WHEN p.hold_until > now() THEN p.hold_until END) END AS hold_ends,
  ${WAITING}
FROM endpoints p WHERE p.subscription_id = ANY($1::uuid[])`);

export async function read(queryable: Queryable, subscriptionIds: readonly string[]): Promise<EndpointRow[]> {
  const rows = await find(queryable, subscriptionIds);
  return rows.map((row) => ({ ...row, state: endpointStateOf(row), holdUntil: row.holdEnds }));
}
