// SQL of the metrics of the outbox and of overdue deliveries of all tenants. It only reads, without locks.
import { many, only } from '../../platform/database/statements.ts';
import type { Queryable } from '../../platform/database/transaction.ts';
import { countBy } from '../../platform/temporal/expected-workflows.ts';
import { SHOWN_STATE } from '../endpoints/shown-state.ts';

/** The most open endpoints with work that are read, and the most late deliveries that are counted. */
const MOST_ENDPOINTS = 50_000;
const MOST_LATE = 100_000;

export const OUTBOX_KINDS = ['first', 'wake', 'start', 'command'] as const;

export type OutboxCount = { readonly kind: string; readonly count: number };
export type EndpointCount = { readonly state: string; readonly count: number };

/**
 * The age in seconds of the oldest unclaimed row, null without rows. `healthy` covers open endpoints that answer
 * quickly without failures, `other` all other open endpoints, `command` the commands. `complete`: all open endpoints
 * were read.
 */
export type RelayLag = {
  readonly healthy: number | null;
  readonly other: number | null;
  readonly command: number | null;
  readonly complete: boolean;
};

/** Deliveries whose next attempt is more than 60 s late. `seconds` is the greatest delay; null without deliveries. */
export type Overdue = { readonly count: number; readonly seconds: number | null };

export const countRows = many<OutboxCount>(
  'SELECT kind, count(*)::float8 AS count FROM outbox GROUP BY kind',
);

export const countEndpoints = many<EndpointCount>(`
SELECT ${SHOWN_STATE} AS state, count(*)::float8 AS count FROM endpoints p WHERE NOT p.deleted GROUP BY 1`);

// Starts from the open endpoints, so that rows of closed endpoints are not read. It needs one index probe for each
// endpoint, and one for each rank with work. An endpoint that is paced or rated leaves rows unclaimed by design, so
// only `healthy` measures the relay.
const findLag = only<RelayLag, [most: number]>(`
WITH busy AS (
  SELECT p.subscription_id, p.tenant_id,
    p.permits IS NULL AND p.rate IS NULL AND p.failures_in_a_row = 0 AND coalesce(p.p90_ms, 0) < 1000 AS healthy
  FROM endpoints p CROSS JOIN LATERAL (
    SELECT 1 FROM outbox
    WHERE tenant_id = p.tenant_id AND endpoint = p.subscription_id AND claimed_by IS NULL AND kind <> 'command' LIMIT 1) AS ready
  WHERE endpoint_is_open(p) LIMIT $1
), oldest AS (
  SELECT b.healthy, extract(epoch FROM now() - min(o.created_at))::float8 AS age
  FROM busy b CROSS JOIN (VALUES (0::smallint), (1), (2)) AS ranks (rank)
  CROSS JOIN LATERAL (
    SELECT created_at FROM outbox
    WHERE tenant_id = b.tenant_id AND endpoint = b.subscription_id AND claimed_by IS NULL AND kind <> 'command' AND rank = ranks.rank
    ORDER BY id LIMIT 1) AS o
  GROUP BY 1
)
SELECT max(age) FILTER (WHERE healthy) AS healthy, max(age) FILTER (WHERE NOT healthy) AS other,
  (SELECT extract(epoch FROM now() - min(created_at))::float8 FROM outbox WHERE kind = 'command' AND claimed_by IS NULL) AS command,
  (SELECT count(*) FROM busy) < $1 AS complete
FROM oldest`);

/** @param most open endpoints with work that are read */
export const readLag = (queryable: Queryable, most = MOST_ENDPOINTS): Promise<RelayLag> =>
  findLag(queryable, most);

// An attempt under way also matches until it is recorded, which takes 15 s and more when its receiver does not answer.
export const readOverdue = only<Overdue>(`
SELECT count(*)::int AS count, max(seconds) AS seconds FROM (
  (SELECT extract(epoch FROM now() - next_attempt_at)::float8 AS seconds FROM deliveries
  WHERE status IN ('pending', 'retrying') AND started_generation IS NOT NULL AND started_generation = generation
    AND next_attempt_at < now() - interval '60 seconds'
  ORDER BY next_attempt_at LIMIT ${MOST_LATE})
  UNION ALL
  (SELECT extract(epoch FROM now() - due_at)::float8 FROM crowded_deliveries
  WHERE due_at < now() - interval '60 seconds' LIMIT ${MOST_LATE})) AS overdue`);

/**
 * Counts deliveries that wait to be handed over or are due, at most 100,000 of each: those that no relay has handed
 * over, and those with a workflow, or in a crowd, whose next attempt is late.
 */
export const countWaiting = countBy(`
SELECT (SELECT count(*) FROM (SELECT 1 FROM outbox WHERE kind <> 'command' LIMIT ${MOST_LATE}) AS rows)
  + (SELECT count(*) FROM (
    SELECT 1 FROM deliveries
    WHERE status IN ('pending', 'retrying') AND started_generation IS NOT NULL AND started_generation = generation
      AND next_attempt_at < now()
    LIMIT ${MOST_LATE}) AS late)
  + (SELECT count(*) FROM (SELECT 1 FROM crowded_deliveries WHERE due_at < now() LIMIT ${MOST_LATE}) AS crowded) AS count`);

export const countRelays = countBy(
  "SELECT count(*)::int AS count FROM relays WHERE role = 'worker' AND seen_at > now() - interval '5 seconds'",
);
