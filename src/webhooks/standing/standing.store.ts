// SQL of the standing: one statement for a tenant, or for all of them. It only reads, without locks.
import { only } from '../../platform/database/statements.ts';
import type { Queryable } from '../../platform/database/transaction.ts';
import { areMany, ofHours, SHOWN_STATE, severityOf } from '../endpoints/shown-state.ts';
import type { FailedStanding, ReadStanding, StateStanding } from './standing.ts';

/** The most groups of failed deliveries that are listed; all are counted. */
const MOST_GROUPS = 50;

type Scope = { readonly subscriptions: string; readonly deliveries: string };
const ALL: Scope = { subscriptions: '', deliveries: '' };
// An array of ids, in which one scan of each index of unfinished deliveries finds its way: no scan for each id.
const OF_TENANT: Scope = {
  subscriptions: 'AND s.tenant_id = $1',
  deliveries: 'AND d.subscription_id = ANY (ARRAY(SELECT id FROM mine))',
};

// The parts of a subscription are grouped, not joined: a plan for few deliveries would compare each with each.
// An id of a delivery begins with its time. `bytea` has a least value, `uuid` has none before PostgreSQL 19.
const statementOf = ({ subscriptions, deliveries }: Scope, failed: string) => `
WITH mine AS MATERIALIZED (
  SELECT s.id, s.stream_audience IS NOT NULL AS is_stream, n.state, ${severityOf('n.state', 's.disabled_reason')} AS severity
  FROM subscriptions s JOIN endpoints p ON p.subscription_id = s.id, LATERAL (SELECT ${SHOWN_STATE} AS state OFFSET 0) AS n
  WHERE s.deleted_at IS NULL AND NOT p.deleted ${subscriptions}
), unfinished AS (
  SELECT d.subscription_id, count(*) AS waiting, min(uuid_send(d.id)) AS oldest
  FROM deliveries d WHERE d.status IN ('pending', 'retrying') ${deliveries} GROUP BY 1
), each AS (
  SELECT id, max(state) AS state, max(severity) AS severity, bool_or(is_stream) AS is_stream, sum(waiting) AS waiting, min(oldest) AS oldest
  FROM (SELECT id, state, severity, is_stream, 0 AS waiting, NULL::bytea AS oldest FROM mine
    UNION ALL SELECT subscription_id, NULL, NULL, NULL, waiting, oldest FROM unfinished) AS parts GROUP BY 1
), states AS (
  SELECT state, severity, count(*)::int AS subscriptions, (count(*) FILTER (WHERE is_stream))::int AS streams,
    sum(waiting)::float8 AS waiting, min(oldest) AS oldest
  FROM each WHERE state IS NOT NULL GROUP BY 1, 2
), failed AS (
  SELECT d.tenant_id, d.subscription_id, coalesce(d.last_error, 'http:' || d.last_status_code, 'unknown') AS answer, count(*)::int AS deliveries,
    min(d.completed_at) AS first_at, max(d.completed_at) AS last_at
  FROM deliveries d WHERE d.status = 'failed' AND d.completed_at > now() - interval '24 hours' ${failed} GROUP BY 1, 2, 3
), largest AS (
  SELECT f.*, s.url, coalesce(p.active, false) AS active,
    CASE WHEN ${areMany('f.deliveries', ofHours('coalesce(sum(h.delivered), 0)', 'f'))} THEN 'warning' ELSE 'notice' END AS severity
  FROM (SELECT * FROM failed ORDER BY deliveries DESC, subscription_id, answer LIMIT ${MOST_GROUPS}) AS f
  LEFT JOIN subscriptions s ON s.id = f.subscription_id AND s.deleted_at IS NULL AND s.stream_audience IS NULL
  LEFT JOIN endpoints p ON p.subscription_id = s.id
)
SELECT coalesce((SELECT json_agg(json_build_object('state', state, 'severity', severity, 'subscriptions', subscriptions, 'streams', streams,
    'waiting', waiting, 'oldestWaitingAt',
    (SELECT d.created_at FROM deliveries d WHERE d.id = encode(states.oldest, 'hex')::uuid))) FROM states), '[]') AS states,
  (SELECT count(*)::int FROM failed) AS groups, (SELECT coalesce(sum(deliveries), 0)::float8 FROM failed) AS deliveries,
  coalesce((SELECT json_agg(json_build_object('subscriptionId', subscription_id, 'url', url, 'active', active, 'answer', answer,
    'severity', severity, 'deliveries', deliveries, 'firstAt', first_at, 'lastAt', last_at) ORDER BY deliveries DESC, subscription_id, answer) FROM largest), '[]') AS largest`;

type Timed<Row, Names extends keyof Row> = Omit<Row, Names> & { readonly [Name in Names]: string | null };
type FoundRow = {
  readonly states: readonly Timed<StateStanding, 'oldestWaitingAt'>[];
  readonly groups: number;
  readonly deliveries: number;
  readonly largest: readonly Timed<FailedStanding, 'firstAt' | 'lastAt'>[];
};

const readTenant = only<FoundRow, [tenantId: string]>(statementOf(OF_TENANT, 'AND d.tenant_id = $1'));
const readAll = only<FoundRow>(statementOf(ALL, ''));

/** Reads how the endpoints of a tenant stand, or of all tenants where none is named. */
export async function read(queryable: Queryable, tenantId?: string): Promise<ReadStanding> {
  const { states, groups, deliveries, largest } = await (tenantId === undefined
    ? readAll(queryable)
    : readTenant(queryable, tenantId));
  return {
    states: states.map((each) => ({ ...each, oldestWaitingAt: timeOf(each.oldestWaitingAt) })),
    failed: {
      ...{ deliveries, groups },
      largest: largest.map((each) => ({
        ...each,
        firstAt: new Date(each.firstAt ?? 0),
        lastAt: new Date(each.lastAt ?? 0),
      })),
    },
  };
}

const timeOf = (text: string | null) => (text === null ? null : new Date(text));
