// The statement by which rooms delete rows that are kept no longer.
import { counted } from './statements.ts';

/**
 * @param options.key the columns of the table's key
 * @param options.old which rows are deleted; its parameters from `$2` on are `Values`
 * @param options.by the column of their order, which has an index
 * @returns a function that deletes at most `limit` rows, the oldest first, and says how many; locked rows are left
 */
export const deleteOldest = <Values extends readonly unknown[] = []>(
  table: string,
  { key, old, by }: { readonly key: readonly string[]; readonly old: string; readonly by: string },
) =>
  counted<[limit: number, ...Values]>(`DELETE FROM ${table} t USING (
  SELECT ${key.join(', ')} FROM ${table} WHERE ${old} ORDER BY ${by} LIMIT $1 FOR UPDATE SKIP LOCKED
) AS old WHERE ${key.map((column) => `t.${column} = old.${column}`).join(' AND ')}`);
