// SQL with which a tenant reads its audit log. Each statement is bound to one tenant and only reads.
import { type Page, type PageRequest, toPage } from '../platform/database/page.ts';
import type { Queryable } from '../platform/database/transaction.ts';
import { type AuditFilters, type AuditLogRecord, SEALED_MARK } from './audit.ts';

/** A digest alone: the client's address went. An address there: the row is from before there were digests. */
const ADDRESS = `coalesce(client_address, CASE WHEN address NOT LIKE 'sha256:%' THEN address END)`;

const COLUMNS = `
id, occurred_at AS "occurredAt", action, outcome, reason, actor_kind AS "actorKind", actor_id AS "actorId",
target_type AS "targetType", target_id AS "targetId", key_id AS "keyId", token_id AS "tokenId",
${ADDRESS} AS address,
request_id AS "requestId", data`;

/** Greatest difference between the writer's clock (the id's time) and the database's clock (`occurred_at`). */
const CLOCK_SKEW = `interval '1 hour'`;

/** As in the index audit_log_without_tokens. */
const WITHOUT_TOKENS = `action NOT IN ('auth.login.success', 'auth.token.issued')`;

const EQUAL = {
  action: 'action',
  outcome: 'outcome',
  actorKind: 'actor_kind',
  actorId: 'actor_id',
  targetType: 'target_type',
  targetId: 'target_id',
  keyId: 'key_id',
  tokenId: 'token_id',
  requestId: 'request_id',
} as const satisfies Partial<Record<keyof AuditFilters, string>>;

/** Returns a page, newest first. A filter by address lets sealed addresses pass. */
export async function list(
  queryable: Queryable,
  tenantId: string,
  request: PageRequest & AuditFilters,
): Promise<Page<AuditLogRecord>> {
  const { text, values } = listQuery(tenantId, request);
  const { rows } = await queryable.query<AuditLogRecord>(text, values);
  return toPage(rows, request.limit);
}

export async function find(
  queryable: Queryable,
  tenantId: string,
  id: string,
): Promise<AuditLogRecord | undefined> {
  const { rows } = await queryable.query<AuditLogRecord>(
    `SELECT ${COLUMNS} FROM audit_log WHERE id = $1 AND tenant_id = $2`,
    [id, tenantId],
  );
  return rows[0];
}

/** Builds the statement that reads a page. Its text depends only on which filters are given. */
export function listQuery(
  tenantId: string,
  { limit, cursor, since, until, tokens, ...filters }: PageRequest & AuditFilters,
): { text: string; values: unknown[] } {
  const values: unknown[] = [tenantId, limit + 1];
  const conditions = ['tenant_id = $1'];
  const where = (condition: (parameter: string) => string, value: unknown) => {
    if (value === undefined) return;
    values.push(value);
    conditions.push(condition(`$${values.length}`));
  };
  for (const [filter, column] of Object.entries(EQUAL))
    where((p) => `${column} = ${p}`, filters[filter as keyof typeof EQUAL]);
  where((p) => `(${ADDRESS} = ${p} OR starts_with(${ADDRESS}, '${SEALED_MARK}'))`, filters.address);
  where((p) => `id < ${p}`, cursor);
  // The condition on `id` limits the range of the index that Postgres reads. The condition on `occurred_at` is exact.
  where(
    (p) => `occurred_at >= ${p} AND id >= uuid_of_time(greatest(${p}::timestamptz - ${CLOCK_SKEW}, 'epoch'))`,
    since,
  );
  where((p) => `occurred_at < ${p} AND id < uuid_of_time(${p}::timestamptz + ${CLOCK_SKEW})`, until);
  if (tokens === 'false') conditions.push(WITHOUT_TOKENS);
  if (filters.actorId === undefined) return { text: pageOf('audit_log', conditions), values };
  // The index of actors leaves out the rows whose target is their actor, so these are found by their target.
  values.push(filters.actorId);
  const parts = ['actor_id IS DISTINCT FROM target_id', `target_id = $${values.length}`];
  const found = parts
    .map((part) => `(${pageOf('audit_log', [...conditions, part], '*')})`)
    .join(' UNION ALL ');
  return { text: pageOf(`(${found}) AS audit_log`, []), values };
}

/** SQL of the newest rows, as many as `$2`. */
function pageOf(from: string, conditions: readonly string[], columns: string = COLUMNS): string {
  const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`;
  return `SELECT ${columns} FROM ${from} ${where} ORDER BY id DESC LIMIT $2`;
}

/** The entries of an hour that are read, of each of the two indexes, so that a busy actor costs no more. */
export const MOST_OF_HOUR = 500;

// The range of `id` is that of an hour by the writer's clock. IS NOT DISTINCT FROM keeps the planner from the index of
// the tenant, whose entries of an hour have no bound.
const ofHour = (who: string) => `
SELECT action, outcome FROM audit_log WHERE tenant_id IS NOT DISTINCT FROM $1 AND ${who}
  AND id >= uuid_of_time(h.hour) AND id < uuid_of_time(h.hour + interval '1 hour') LIMIT ${MOST_OF_HOUR}`;

const COUNT_HOURS = `
SELECT h.hour, count(*) FILTER (WHERE action = 'auth.token.issued')::int AS tokens,
  count(*) FILTER (WHERE outcome = 'failure')::int AS failures
FROM date_trunc('hour', now(), 'UTC') AS present
CROSS JOIN generate_series(present - interval '23 hours', present, '1 hour') AS h (hour)
LEFT JOIN LATERAL ((${ofHour('target_id = $2 AND actor_id = $2')}) UNION ALL (${ofHour('actor_id = $2 AND actor_id IS DISTINCT FROM target_id')})) AS found ON true
GROUP BY h.hour ORDER BY h.hour`;

export type ActorHour = { readonly hour: Date; readonly tokens: number; readonly failures: number };

/** Counts an actor's tokens and failures in each of the last 24 hours, the oldest first. */
export async function countHours(
  queryable: Queryable,
  tenantId: string,
  actorId: string,
): Promise<ActorHour[]> {
  return (await queryable.query<ActorHour>(COUNT_HOURS, [tenantId, actorId])).rows;
}
