// SQL of tenants that end, and the statements that remove their rows. Names of tables are those of the rules.
import { countBreaches } from '../../platform/database/breach.ts';
import { changed, done, many, one } from '../../platform/database/statements.ts';
import type { Queryable } from '../../platform/database/transaction.ts';
import { listBy } from '../../platform/temporal/expected-workflows.ts';
import { ERASURE_RULES, listErased } from './erasure-rules.ts';
import { GRACE_DAYS, type TenantEnd } from './tenant-end.ts';

export const read = one<TenantEnd, [tenantId: string]>(`
SELECT e.tenant_id, t.slug, e.asked_at, e.erase_at, e.removed, now() AS now
FROM tenant_ends e JOIN tenants t ON t.id = e.tenant_id WHERE e.tenant_id = $1`);

/** @returns false when the tenant ended before */
export const begin = changed<[tenantId: string, wasSuspended: boolean]>(`
INSERT INTO tenant_ends (tenant_id, was_suspended, erase_at) VALUES ($1, $2, now() + interval '${GRACE_DAYS} days')
ON CONFLICT DO NOTHING`);

/** Takes an end back, unless its time is over. @returns undefined when there was none to take back */
export const takeBack = one<{ readonly wasSuspended: boolean }, [tenantId: string]>(
  'DELETE FROM tenant_ends WHERE tenant_id = $1 AND erase_at > now() RETURNING was_suspended',
);

export const isEnding = changed<[tenantId: string]>('SELECT 1 FROM tenant_ends WHERE tenant_id = $1');

const COUNT = `
UPDATE tenant_ends SET removed = removed || jsonb_build_object($2::text, coalesce((removed->>$2)::bigint, 0) + gone.n), removed_at = now()
FROM gone WHERE tenant_id = $1 AND gone.n > 0 RETURNING gone.n`;

const removals = listErased().map(({ table, where }) => {
  const own = `DELETE FROM ${table} WHERE ${where} AND ctid = ANY (ARRAY(SELECT ctid FROM ${table} WHERE ${where} LIMIT $3))`;
  const gone =
    table === 'audit_log'
      ? 'WITH gone AS MATERIALIZED (SELECT erase_audit_rows($1, $3) AS n)'
      : `WITH rows AS (${own} RETURNING 1), gone AS MATERIALIZED (SELECT count(*) AS n FROM rows)`;
  return {
    table,
    remove: one<{ n: number }, [tenantId: string, table: string, limit: number]>(`${gone} ${COUNT}`),
  };
});

/**
 * For each table that is emptied, in their order: removes at most `limit` rows of a tenant, and counts them in the same
 * statement. A partition has its own ctids, so a chunk of a partitioned table may take further rows, of the same tenant.
 */
export const REMOVALS = removals.map(({ table, remove }) => ({
  table,
  /** @returns how many */
  remove: async (queryable: Queryable, tenantId: string, limit: number): Promise<number> =>
    (await remove(queryable, tenantId, table, limit))?.n ?? 0,
}));

/** Counts what was removed elsewhere. */
export const count = done<[tenantId: string, what: string, n: number]>(
  `WITH gone AS (SELECT $3::bigint AS n) ${COUNT}`,
);

/** Tables with a column `tenant_id`, as the schema has them. */
const listTables = many<{ name: string }>(`
SELECT c.relname AS name FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
  AND a.attname = 'tenant_id' AND NOT a.attisdropped ORDER BY c.relname`);

/** @returns the tables of the schema that still have rows of the tenant, beside those that keep theirs */
export async function listLeft(queryable: Queryable, tenantId: string): Promise<string[]> {
  const left: string[] = [];
  for (const { name } of await listTables(queryable)) {
    const { kept, where = 'tenant_id = $1' } = ERASURE_RULES[name] ?? {};
    // A trigger keeps the filters equal to the subscriptions, so they are looked at too.
    if (kept !== undefined && name !== 'subscription_filters') continue;
    const { rowCount } = await queryable.query(`SELECT 1 FROM ${name} WHERE ${where} LIMIT 1`, [tenantId]);
    if (rowCount > 0) left.push(name);
  }
  return left;
}

/** Partitions are tables too, and so are those that wait to be dropped. */
const listParts = many<{ oid: number }, [only: readonly string[] | undefined]>(`
SELECT oid FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p')
  AND ($1::text[] IS NULL OR relname = ANY ($1))`);

const renew = done<[oid: number]>('SELECT renew_statistics($1)');
/** Takes the values of removed rows from the planner's statistics, table by table. @param only these tables */
export async function renewStatistics(queryable: Queryable, only?: readonly string[]): Promise<void> {
  for (const { oid } of await listParts(queryable, only)) await renew(queryable, oid);
}

/** Removes the end of a tenant that is erased, which the transaction has locked. */
export const remove = done<[tenantId: string]>('DELETE FROM tenant_ends WHERE tenant_id = $1');

/** Tenants of which something should be removed. */
export const findOverdue = countBreaches('greatest(erase_at, removed_at)', 'FROM tenant_ends');

/** Lists the tenants that end: each has a workflow. */
export const listExpectedWorkflows = listBy(
  'SELECT tenant_id, tenant_id AS entity_id FROM tenant_ends WHERE tenant_id > $1 ORDER BY tenant_id LIMIT $2',
);
