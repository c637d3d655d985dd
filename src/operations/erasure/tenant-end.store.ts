// SQL of tenants that end, and the statements that remove their rows. Names of tables are those of the rules.
import type { Queryable, Transaction } from '../../platform/database/transaction.ts';
import { countBy, listBy } from '../../platform/temporal/expected-workflows.ts';
import { ERASURE_RULES } from './erasure-rules.ts';
import { GRACE_DAYS, type TenantEnd } from './tenant-end.ts';

const READ = `
SELECT e.tenant_id AS "tenantId", t.slug, e.asked_at AS "askedAt", e.erase_at AS "eraseAt", e.removed, now() AS now
FROM tenant_ends e JOIN tenants t ON t.id = e.tenant_id WHERE e.tenant_id = $1`;

const BEGIN = `
INSERT INTO tenant_ends (tenant_id, was_suspended, erase_at) VALUES ($1, $2, now() + interval '${GRACE_DAYS} days')
ON CONFLICT DO NOTHING`;

const EXPECTED = `
SELECT tenant_id AS "tenantId", tenant_id AS "entityId" FROM tenant_ends WHERE tenant_id > $1 ORDER BY tenant_id LIMIT $2`;

const OVERDUE = `
SELECT count(*)::int AS count FROM tenant_ends WHERE greatest(erase_at, removed_at) < now() - interval '5 minutes'`;

const COUNT = `
UPDATE tenant_ends SET removed = removed || jsonb_build_object($2::text, coalesce((removed->>$2)::bigint, 0) + gone.n), removed_at = now()
FROM gone WHERE tenant_id = $1 AND gone.n > 0 RETURNING gone.n`;

/** Tables with a column `tenant_id`, as the schema has them. */
const TABLES_OF_TENANTS = `
SELECT c.relname AS name FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
  AND a.attname = 'tenant_id' AND NOT a.attisdropped ORDER BY c.relname`;

/** Partitions are tables too, and so are those that wait to be dropped. */
const TABLES = `
SELECT oid FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p')
  AND ($1::text[] IS NULL OR relname = ANY ($1))`;

export async function read(queryable: Queryable, tenantId: string): Promise<TenantEnd | undefined> {
  return (await queryable.query<TenantEnd>(READ, [tenantId])).rows[0];
}

/** @returns false when the tenant ended before */
export async function begin(
  unit: Queryable,
  { tenantId, wasSuspended }: { readonly tenantId: string; readonly wasSuspended: boolean },
): Promise<boolean> {
  return (await unit.query(BEGIN, [tenantId, wasSuspended])).rowCount > 0;
}

/** Takes an end back, unless its time is over. @returns undefined when there was none to take back */
export async function takeBack(
  unit: Queryable,
  tenantId: string,
): Promise<{ readonly wasSuspended: boolean } | undefined> {
  const { rows } = await unit.query<{ wasSuspended: boolean }>(
    `DELETE FROM tenant_ends WHERE tenant_id = $1 AND erase_at > now() RETURNING was_suspended AS "wasSuspended"`,
    [tenantId],
  );
  return rows[0];
}

export async function isEnding(unit: Queryable, tenantId: string): Promise<boolean> {
  return (await unit.query('SELECT 1 FROM tenant_ends WHERE tenant_id = $1', [tenantId])).rowCount > 0;
}

/**
 * Removes at most `limit` rows of a tenant, and counts them in the same statement. A partition has its own ctids, so a
 * chunk of a partitioned table may take further rows, of the same tenant.
 * @returns how many
 */
export async function removeRows(
  queryable: Queryable,
  { table, where }: { readonly table: string; readonly where: string },
  { tenantId, limit }: { readonly tenantId: string; readonly limit: number },
): Promise<number> {
  const gone =
    table === 'audit_log' ? 'SELECT erase_audit_rows($1, $3) AS n' : `SELECT count(*) AS n FROM rows`;
  const rows = `DELETE FROM ${table} WHERE ${where} AND ctid = ANY (ARRAY(SELECT ctid FROM ${table} WHERE ${where} LIMIT $3))`;
  const text = `WITH ${table === 'audit_log' ? '' : `rows AS (${rows} RETURNING 1), `}gone AS MATERIALIZED (${gone}) ${COUNT}`;
  const { rows: counted } = await queryable.query<{ n: number }>(text, [tenantId, table, limit]);
  return Number(counted[0]?.n ?? 0);
}

/** Counts what was removed elsewhere. */
export async function count(
  queryable: Queryable,
  tenantId: string,
  removed: { readonly what: string; readonly n: number },
): Promise<void> {
  await queryable.query(`WITH gone AS (SELECT $3::bigint AS n) ${COUNT}`, [
    tenantId,
    removed.what,
    removed.n,
  ]);
}

/** @returns the tables of the schema that still have rows of the tenant, beside those that keep theirs */
export async function listLeft(queryable: Queryable, tenantId: string): Promise<string[]> {
  const left: string[] = [];
  for (const { name } of (await queryable.query<{ name: string }>(TABLES_OF_TENANTS)).rows) {
    const { kept, where = 'tenant_id = $1' } = ERASURE_RULES[name] ?? {};
    // A trigger keeps the filters equal to the subscriptions, so they are looked at too.
    if (kept !== undefined && name !== 'subscription_filters') continue;
    const { rowCount } = await queryable.query(`SELECT 1 FROM ${name} WHERE ${where} LIMIT 1`, [tenantId]);
    if (rowCount > 0) left.push(name);
  }
  return left;
}

/** Takes the values of removed rows from the planner's statistics, table by table. @param only these tables */
export async function renewStatistics(queryable: Queryable, only?: readonly string[]): Promise<void> {
  for (const { oid } of (await queryable.query<{ oid: number }>(TABLES, [only])).rows)
    await queryable.query('SELECT renew_statistics($1)', [oid]);
}

/** Removes the end of a tenant that is erased, which the transaction has locked. */
export async function remove(transaction: Transaction, tenantId: string): Promise<void> {
  await transaction.query('DELETE FROM tenant_ends WHERE tenant_id = $1', [tenantId]);
}

export const countOverdue = countBy(OVERDUE);

/** Lists the tenants that end: each has a workflow. */
export const listExpectedWorkflows = listBy(EXPECTED);
