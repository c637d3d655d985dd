// What waits to be handed over, across all tenants: for metrics only. It must change nothing and lock nothing.
import type { Queryable } from '../../database/transaction.ts';

/** Lanes that one look covers, and late deliveries that are counted. */
const MOST_LANES = 5_000;
const MOST_LATE = 100_000;

/** `inactive`: switched off by its owner. `stopped`: with its tenant or its host, by an operator. `recovering`: open, and let through one by one. */
export const LANE_STATES = ['open', 'recovering', 'held', 'down', 'stopped', 'inactive'] as const;
export const OUTBOX_KINDS = ['first', 'wake', 'start', 'command'] as const;

/** Ages in seconds; null where nothing waits. */
export type Backlog = {
  readonly rows: readonly { readonly kind: string; readonly count: number }[];
  readonly lanes: readonly { readonly state: string; readonly count: number }[];
  /** Of the oldest unclaimed row of an open lane, apart for lanes whose receiver answers quickly and without failures. */
  readonly healthyLag: number | null;
  readonly otherLag: number | null;
  readonly commandLag: number | null;
  /** Deliveries whose next attempt is late by more than 60 s, and by how much the most late one is. */
  readonly late: number;
  readonly latest: number | null;
  /** Relays that show that they live. */
  readonly relays: number;
};

const LANES = `
SELECT CASE
    WHEN NOT active THEN 'inactive' WHEN greatest(tenant_held_until, host_held_until) > now() THEN 'stopped' WHEN state = 'down' THEN 'down' WHEN hold_until > now() THEN 'held'
    WHEN permits IS NOT NULL THEN 'recovering' ELSE 'open' END AS state, count(*)::float8 AS count
FROM lanes WHERE NOT deleted GROUP BY 1`;

// A skip scan, as the relay's own: one index probe a lane and rank, whatever waits in it. Only where a lane takes all that it is given does
// waiting say something of the relay.
const LAG = `
WITH RECURSIVE ready AS (
  (SELECT o.tenant_id, o.lane FROM outbox o WHERE o.claimed_by IS NULL AND o.kind <> 'command' ORDER BY o.tenant_id, o.lane LIMIT 1)
  UNION ALL
  SELECT following.tenant_id, following.lane FROM ready r CROSS JOIN LATERAL (
    SELECT o.tenant_id, o.lane FROM outbox o
    WHERE o.claimed_by IS NULL AND o.kind <> 'command' AND (o.tenant_id, o.lane) > (r.tenant_id, r.lane)
    ORDER BY o.tenant_id, o.lane LIMIT 1) AS following
), oldest AS (
  SELECT l.permits IS NULL AND l.rate IS NULL AND l.failures_in_a_row = 0 AND coalesce(l.p90_ms, 0) < 1000 AS healthy,
    extract(epoch FROM now() - min(o.created_at))::float8 AS age
  FROM (SELECT * FROM ready LIMIT ${MOST_LANES}) r JOIN lanes l ON l.subscription_id = r.lane AND lane_is_open(l)
  CROSS JOIN (VALUES (0::smallint), (1), (2)) AS ranks (rank)
  CROSS JOIN LATERAL (
    SELECT created_at FROM outbox
    WHERE tenant_id = r.tenant_id AND lane = r.lane AND claimed_by IS NULL AND kind <> 'command' AND rank = ranks.rank
    ORDER BY id LIMIT 1) AS o
  GROUP BY 1
)
SELECT max(age) FILTER (WHERE healthy) AS "healthyLag", max(age) FILTER (WHERE NOT healthy) AS "otherLag",
  (SELECT extract(epoch FROM now() - min(created_at))::float8 FROM outbox WHERE kind = 'command' AND claimed_by IS NULL) AS "commandLag",
  (SELECT count(*)::int FROM relays WHERE seen_at > now() - interval '5 seconds') AS relays
FROM oldest`;

// An attempt that is under way counts as due until it is recorded, which takes 15 s and more when its receiver does not answer.
const LATE = `
SELECT count(*)::int AS late, max(seconds) AS latest FROM (
  SELECT extract(epoch FROM now() - next_attempt_at)::float8 AS seconds FROM deliveries
  WHERE status IN ('pending', 'retrying') AND started_generation IS NOT NULL AND started_generation = generation
    AND next_attempt_at < now() - interval '60 seconds'
  ORDER BY next_attempt_at LIMIT ${MOST_LATE}) AS overdue`;

/** SQL of the backlog's numbers. */
export function createBacklogStore() {
  return {
    /** Counts what waits. A few statements, one after the other. */
    read: async (queryable: Queryable): Promise<Backlog> => {
      const rows = await queryable.query<{ kind: string; count: number }>(
        'SELECT kind, count(*)::float8 AS count FROM outbox GROUP BY kind',
      );
      const lanes = await queryable.query<{ state: string; count: number }>(LANES);
      const lag =
        await queryable.query<Pick<Backlog, 'healthyLag' | 'otherLag' | 'commandLag' | 'relays'>>(LAG);
      const late = await queryable.query<Pick<Backlog, 'late' | 'latest'>>(LATE);
      const { healthyLag = null, otherLag = null, commandLag = null, relays = 0 } = lag.rows[0] ?? {};
      const { late: overdue = 0, latest = null } = late.rows[0] ?? {};
      return {
        rows: rows.rows,
        lanes: lanes.rows,
        healthyLag,
        otherLag,
        commandLag,
        relays,
        late: overdue,
        latest,
      };
    },
  };
}
