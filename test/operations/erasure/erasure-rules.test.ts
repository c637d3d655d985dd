// Each table of the schema has a rule for the erasure of a tenant, and each rule is one that Postgres takes.
import { describe, expect, it } from 'vitest';
import { ERASURE_RULES, listErased, listExported } from '../../../src/operations/erasure/erasure-rules.ts';
import { useTestDatabase } from '../../setup/database.ts';

const { database } = await useTestDatabase();

/** @param condition of pg_class, as `c` */
const listTables = async (condition: string): Promise<string[]> => {
  const { rows } = await database.query<{ name: string }>(
    `SELECT c.relname AS name FROM pg_class c WHERE c.relnamespace = current_schema()::regnamespace
       AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relname <> 'schema_migrations' AND ${condition}
     ORDER BY c.relname`,
  );
  return rows.map(({ name }) => name);
};

describe('the rules of erasure', () => {
  it('name each table of the schema, and no other', async () => {
    expect(Object.keys(ERASURE_RULES).sort()).toEqual(await listTables('true'));
  });

  it('empty each table with a tenant, or say why not', async () => {
    const named = new Set(listErased().map(({ table }) => table));
    const withTenant = await listTables(
      "EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'tenant_id')",
    );
    expect(withTenant.filter((table) => !named.has(table)).sort()).toEqual([
      'audit_checkpoints',
      'audit_erasures',
      'subscription_filters',
      'tenant_ends',
    ]);
  });

  it('remove rows before the rows that they refer to', async () => {
    const order = [...listErased().map(({ table }) => table), 'tenants'];
    const { rows } = await database.query<{ from: string; to: string }>(
      `SELECT conrelid::regclass::text AS from, confrelid::regclass::text AS to FROM pg_constraint WHERE contype = 'f'`,
    );
    expect(rows.length).toBeGreaterThan(20);
    const wrong = rows.filter(({ from, to }) => from !== to && order.indexOf(from) > order.indexOf(to));
    expect(wrong).toEqual([]);
  });

  it('have conditions that Postgres takes', async () => {
    for (const { table, where } of [...listErased(), ...listExported()])
      await database.query(`SELECT 1 FROM ${table} WHERE ${where} LIMIT 1`, [
        '0199a1b2-d293-74a5-80b1-2c3d4e5f6071',
      ]);
  });
});
