// SQL with which a tenant reads its audit log. Each statement is bound to one tenant and only reads.
import { createBoundedCache } from '../platform/bounded-cache.ts';
import { type Page, type PageRequest, toPage } from '../platform/database/page.ts';
import { many, one } from '../platform/database/statements.ts';
import type { Queryable } from '../platform/database/transaction.ts';
import { type AuditFilters, type AuditLogRecord, SEALED_MARK } from './audit.ts';

/** A digest alone: the client's address went. An address there: the row is from before there were digests. */
const ADDRESS = `coalesce(client_address, CASE WHEN address NOT LIKE 'sha256:%' THEN address END)`;

const COLUMNS = `
id, occurred_at, action, outcome, reason, actor_kind, actor_id, target_type, target_id, key_id, token_id,
${ADDRESS} AS address, request_id, data`;

/** Greatest difference between the writer's clock (the id's time) and the database's clock (`occurred_at`). */
const CLOCK_SKEW = `interval '1 hour'`;

/** As in the index audit_log_without_tokens. */
const WITHOUT_TOKENS = `action NOT IN ('auth.login.success', 'auth.token.issued')`;

const equal = (column: string) => (parameter: string) => `${column} = ${parameter}`;

// The condition on `id` limits the range of the index that Postgres reads. The condition on `occurred_at` is exact.
const CONDITIONS = {
  action: equal('action'),
  outcome: equal('outcome'),
  actorKind: equal('actor_kind'),
  actorId: equal('actor_id'),
  targetType: equal('target_type'),
  targetId: equal('target_id'),
  keyId: equal('key_id'),
  tokenId: equal('token_id'),
  requestId: equal('request_id'),
  address: (p) => `(${ADDRESS} = ${p} OR starts_with(${ADDRESS}, '${SEALED_MARK}'))`,
  cursor: (p) => `id < ${p}`,
  since: (p) =>
    `occurred_at >= ${p} AND id >= uuid_of_time(greatest(${p}::timestamptz - ${CLOCK_SKEW}, 'epoch'))`,
  until: (p) => `occurred_at < ${p} AND id < uuid_of_time(${p}::timestamptz + ${CLOCK_SKEW})`,
} as const satisfies Record<string, (parameter: string) => string>;

type Filter = keyof typeof CONDITIONS;

const FILTERS = Object.keys(CONDITIONS) as Filter[];

/** SQL of the newest rows, as many as `$2`. */
function pageOf(from: string, conditions: readonly string[], columns: string = COLUMNS): string {
  const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`;
  return `SELECT ${columns} FROM ${from} ${where} ORDER BY id DESC LIMIT $2`;
}

/** The statement of the pages behind some filters, whose values are the parameters from `$3` on. */
function readPages(filters: readonly Filter[], { withoutTokens }: { withoutTokens: boolean }) {
  const conditions = [
    'tenant_id = $1',
    ...filters.map((filter, index) => CONDITIONS[filter](`$${index + 3}`)),
    ...(withoutTokens ? [WITHOUT_TOKENS] : []),
  ];
  // The index of actors leaves out the rows whose target is their actor, so these are found by their target.
  const actor = `$${filters.indexOf('actorId') + 3}`;
  const found = ['actor_id IS DISTINCT FROM target_id', `target_id = ${actor}`]
    .map((part) => `(${pageOf('audit_log', [...conditions, part], '*')})`)
    .join(' UNION ALL ');
  return many<AuditLogRecord, [tenantId: string, limit: number, ...filters: unknown[]]>(
    filters.includes('actorId') ? pageOf(`(${found}) AS audit_log`, []) : pageOf('audit_log', conditions),
  );
}

/** The greatest number of sets of filters whose statement is kept. */
const KEPT = 1_000;

const pages = createBoundedCache<ReturnType<typeof readPages>>({ limit: KEPT });

// The test of statements reads each condition here.
for (const withoutTokens of [false, true])
  for (const filters of [[], FILTERS, ...FILTERS.map((filter) => [filter])])
    statementOf(filters, withoutTokens);

function statementOf(filters: readonly Filter[], withoutTokens: boolean) {
  return pages.get([...filters, withoutTokens].join(), () => readPages(filters, { withoutTokens }));
}

/** The statement of a page, and its parameters. */
export function listQuery(tenantId: string, { limit, tokens, ...filters }: PageRequest & AuditFilters) {
  const given = FILTERS.filter((filter) => filters[filter] !== undefined);
  const statement = statementOf(given, tokens === 'false');
  return { statement, values: [tenantId, limit + 1, ...given.map((filter) => filters[filter])] as const };
}

/** Returns a page, newest first. A filter by address lets sealed addresses pass. */
export async function list(
  queryable: Queryable,
  tenantId: string,
  request: PageRequest & AuditFilters,
): Promise<Page<AuditLogRecord>> {
  const { statement, values } = listQuery(tenantId, request);
  return toPage(await statement(queryable, ...values), request.limit);
}

export const find = one<AuditLogRecord, [tenantId: string, id: string]>(
  `SELECT ${COLUMNS} FROM audit_log WHERE tenant_id = $1 AND id = $2`,
);

/** The entries of an hour that are read, of each of the two indexes, so that a busy actor costs no more. */
export const MOST_OF_HOUR = 500;

// The range of `id` is that of an hour by the writer's clock. IS NOT DISTINCT FROM keeps the planner from the index of
// the tenant, whose entries of an hour have no bound.
const ofHour = (who: string) => `
SELECT action, outcome FROM audit_log WHERE tenant_id IS NOT DISTINCT FROM $1 AND ${who}
  AND id >= uuid_of_time(h.hour) AND id < uuid_of_time(h.hour + interval '1 hour') LIMIT ${MOST_OF_HOUR}`;

export type ActorHour = { readonly hour: Date; readonly tokens: number; readonly failures: number };

/** Counts an actor's tokens and failures in each of the last 24 hours, the oldest first. */
export const countHours = many<ActorHour, [tenantId: string, actorId: string]>(`
SELECT h.hour, count(*) FILTER (WHERE action = 'auth.token.issued')::int AS tokens,
  count(*) FILTER (WHERE outcome = 'failure')::int AS failures
FROM date_trunc('hour', now(), 'UTC') AS present
CROSS JOIN generate_series(present - interval '23 hours', present, '1 hour') AS h (hour)
LEFT JOIN LATERAL ((${ofHour('target_id = $2 AND actor_id = $2')}) UNION ALL (${ofHour('actor_id = $2 AND actor_id IS DISTINCT FROM target_id')})) AS found ON true
GROUP BY h.hour ORDER BY h.hour`);
