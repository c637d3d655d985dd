// SQL of the metrics of the outbox of all tenants. It only reads, without locks.
import { countBreaches } from '../../platform/database/breach.ts';
import { many, only, value } from '../../platform/database/statements.ts';
import type { Queryable } from '../../platform/database/transaction.ts';
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

export const countRows = many<OutboxCount>(
  'SELECT kind, count(*)::float8 AS count FROM outbox GROUP BY kind',
);

export const countEndpoints = many<EndpointCount>(`
SELECT ${SHOWN_STATE} AS state, count(*)::float8 AS count FROM endpoints p WHERE NOT p.deleted GROUP BY 1`);

// Starts from the open endpoints, so that rows of closed endpoints are not read. It needs one index probe for each
// endpoint, and one for each rank with work. An endpoint that is paced or rated leaves rows unclaimed by design, so
// only `healthy` measures the relay.
const busy = (most: string) => `
SELECT p.subscription_id, p.tenant_id,
  p.permits IS NULL AND p.rate IS NULL AND p.failures_in_a_row = 0 AND coalesce(p.p90_ms, 0) < 1000 AS healthy
FROM endpoints p CROSS JOIN LATERAL (
  SELECT 1 FROM outbox
  WHERE tenant_id = p.tenant_id AND endpoint = p.subscription_id AND claimed_by IS NULL AND kind <> 'command' LIMIT 1) AS ready
WHERE endpoint_is_open(p) LIMIT ${most}`;

const oldestOf = (busy: string) => `
SELECT b.healthy, o.created_at FROM ${busy} b CROSS JOIN (VALUES (0::smallint), (1), (2)) AS ranks (rank)
CROSS JOIN LATERAL (
  SELECT created_at FROM outbox
  WHERE tenant_id = b.tenant_id AND endpoint = b.subscription_id AND claimed_by IS NULL AND kind <> 'command' AND rank = ranks.rank
  ORDER BY id LIMIT 1) AS o`;

const findLag = only<RelayLag, [most: number]>(`
WITH busy AS (${busy('$1')}
), oldest AS (
  SELECT healthy, extract(epoch FROM now() - min(created_at))::float8 AS age FROM (${oldestOf('busy')}) AS ranked GROUP BY 1
)
SELECT max(age) FILTER (WHERE healthy) AS healthy, max(age) FILTER (WHERE NOT healthy) AS other,
  (SELECT extract(epoch FROM now() - min(created_at))::float8 FROM outbox WHERE kind = 'command' AND claimed_by IS NULL) AS command,
  (SELECT count(*) FROM busy) < $1 AS complete
FROM oldest`);

/** @param most open endpoints with work that are read */
export const readLag = (queryable: Queryable, most = MOST_ENDPOINTS): Promise<RelayLag> =>
  findLag(queryable, most);

/**
 * Counts deliveries that wait to be handed over or are due, at most 100,000 of each: those that no relay has handed
 * over, and those with a workflow, or in a crowd, whose next attempt is late.
 */
export const countWaiting = value<number>(`
SELECT (SELECT count(*) FROM (SELECT 1 FROM outbox WHERE kind <> 'command' LIMIT ${MOST_LATE}) AS rows)
  + (SELECT count(*) FROM (
    SELECT 1 FROM deliveries
    WHERE status IN ('pending', 'retrying') AND started_generation IS NOT NULL AND started_generation = generation
      AND next_attempt_at < now()
    LIMIT ${MOST_LATE}) AS late)
  + (SELECT count(*) FROM (SELECT 1 FROM crowded_deliveries WHERE due_at < now() LIMIT ${MOST_LATE}) AS crowded) AS count`);

export const countRelays = value<number>(
  "SELECT count(*)::int AS count FROM relays WHERE role = 'worker' AND seen_at > now() - interval '5 seconds'",
);

/** Ranks of healthy endpoints, by their oldest row that no relay has taken. */
export const findUntaken = countBreaches(
  'created_at',
  `FROM (${oldestOf(`(${busy(`${MOST_ENDPOINTS}`)})`)}) AS oldest WHERE healthy`,
);

/** The rows of the outbox, and in seconds the age of the oldest of a healthy endpoint and of the oldest command. */
export async function readBacklog(queryable: Queryable) {
  const [counts, lag] = await Promise.all([countRows(queryable), readLag(queryable)]);
  const rows = counts.reduce((sum, { count }) => sum + count, 0);
  return { rows, oldestDue: lag.healthy ?? 0, oldestCommand: lag.command ?? 0 };
}
