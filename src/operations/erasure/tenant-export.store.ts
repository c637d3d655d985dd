// SQL of a tenant's archive: its rows as JSON, read by a cursor.
import type { Database } from '../../platform/database/database.ts';
import { value } from '../../platform/database/statements.ts';

const PAGE = 500;

/** Sealed secrets, and hashes of secrets and tokens. */
const listSecrets = value<readonly string[], [table: string]>(`
SELECT coalesce(array_agg(attname::text), '{}') FROM pg_attribute
WHERE attrelid = to_regclass($1) AND (attname LIKE '%\\_sealed' OR attname = 'hash') AND NOT attisdropped`);

/**
 * Reads the rows of one table as texts of JSON, with the names of their columns.
 * @param source names and conditions of the rules: `where` has the tenant as $1, `more` replaces columns
 * @param take gets each page; the next one is read afterwards
 */
export function readRows(
  database: Pick<Database, 'transaction'>,
  { table, where, more }: { readonly table: string; readonly where: string; readonly more: string },
  tenantId: string,
  take: (page: readonly string[]) => Promise<void>,
): Promise<void> {
  return database.transaction({}, async (transaction) => {
    await transaction.query(
      `DECLARE archive NO SCROLL CURSOR FOR
       SELECT ((to_jsonb(${table}) - $2::text[]) || ${more})::text AS row FROM ${table} WHERE ${where}`,
      [tenantId, await listSecrets(transaction, table)],
    );
    for (;;) {
      const page = await transaction.query<{ row: string }>(`FETCH ${PAGE} FROM archive`);
      if (page.rows.length === 0) return;
      await take(page.rows.map(({ row }) => row));
    }
  });
}
