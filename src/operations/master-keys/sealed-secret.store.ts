// SQL of the sealed secrets of all rooms. A secret is replaced only if it has not changed since it was read.

import type { KeyInUse, SealedColumn } from '../../platform/database/sealed-column.ts';
import type { Queryable } from '../../platform/database/transaction.ts';

/** A sealed secret; `name` is the part of the context that the column defines. */
export type SealedSecret = {
  readonly id: string;
  readonly tenantId: string;
  readonly name: string;
  readonly sealed: Buffer;
  /** Of a column with `beside`: the bytes that it is computed from. */
  readonly from: Buffer;
};

/** `beside`: the new value of the column that depends on the master key. */
export type Resealed = Pick<SealedSecret, 'id' | 'sealed'> & {
  readonly anew: Buffer;
  readonly beside: string | undefined;
};

// The recursion costs one index probe for each distinct key id, and reads no row of the table.
const keysOf = ({ table, column }: SealedColumn) => `
SELECT '${table}' AS "table", '${column}' AS "column", id FROM (
  WITH RECURSIVE ids (id) AS (
    (SELECT sealing_key(${column}) FROM ${table} WHERE ${column} IS NOT NULL ORDER BY 1 LIMIT 1)
    UNION ALL
    SELECT (SELECT sealing_key(${column}) FROM ${table}
      WHERE ${column} IS NOT NULL AND sealing_key(${column}) > ids.id ORDER BY 1 LIMIT 1)
    FROM ids WHERE ids.id IS NOT NULL
  ) SELECT id FROM ids WHERE id IS NOT NULL
) AS of_column`;

/**
 * Lists the ids of the master keys that sealed these columns, in a time that does not grow with the number of secrets.
 */
export async function listKeysInUse(
  queryable: Queryable,
  columns: readonly SealedColumn[],
): Promise<KeyInUse[]> {
  const { rows } = await queryable.query<Omit<KeyInUse, 'keyId'> & { id: Buffer }>(
    columns.map(keysOf).join('\nUNION ALL'),
  );
  return rows.map(({ id, ...place }) => ({ ...place, keyId: id.toString('utf8') }));
}

/** Counts the secrets of the column that are sealed with one of these master keys. */
export async function count(
  queryable: Queryable,
  { table, column }: SealedColumn,
  keyIds: readonly string[],
): Promise<number> {
  const { rows } = await queryable.query<{ count: number }>(
    `SELECT count(*)::float8 AS count FROM ${table} WHERE ${column} IS NOT NULL AND sealing_key(${column}) = ANY ($1::bytea[])`,
    [keyIds.map((id) => Buffer.from(id, 'utf8'))],
  );
  return rows[0]?.count ?? 0;
}

/** One page of the secrets that are sealed with this master key, by ascending id of the row. */
export async function list(
  queryable: Queryable,
  { table, column, name, beside }: SealedColumn,
  { keyId, after, limit }: { keyId: string; after: string; limit: number },
): Promise<SealedSecret[]> {
  const { rows } = await queryable.query<SealedSecret>(
    `SELECT id, tenant_id AS "tenantId", ${name} AS name, ${column} AS sealed, ${beside?.from ?? 'NULL'} AS from FROM ${table}
         WHERE ${column} IS NOT NULL AND sealing_key(${column}) = $1 AND id > $2 ORDER BY sealing_key(${column}), id LIMIT $3`,
    [Buffer.from(keyId, 'utf8'), after, limit],
  );
  return rows;
}

/** Replaces secrets that are unchanged since they were read; skips locked rows. @returns how many were replaced */
export async function replace(
  queryable: Queryable,
  { table, column, beside }: SealedColumn,
  secrets: readonly Resealed[],
): Promise<number> {
  const { rowCount } = await queryable.query(
    `WITH free AS (
           SELECT t.id, given.anew, given.beside
           FROM unnest($1::uuid[], $2::bytea[], $3::bytea[], $4::text[]) AS given (id, sealed, anew, beside)
           JOIN ${table} t ON t.id = given.id AND t.${column} = given.sealed FOR NO KEY UPDATE OF t SKIP LOCKED
         ) UPDATE ${table} t SET ${column} = free.anew${beside === undefined ? '' : `, ${beside.column} = free.beside`} FROM free WHERE t.id = free.id`,
    [
      secrets.map(({ id }) => id),
      secrets.map(({ sealed }) => sealed),
      secrets.map(({ anew }) => anew),
      secrets.map(({ beside: value }) => value ?? null),
    ],
  );
  return rowCount;
}
