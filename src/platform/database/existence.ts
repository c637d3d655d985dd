// Whether a tenant has a row. The shell asks before it reads a request, so that an unknown id is 404.
import type { Queryable } from './transaction.ts';

/**
 * Makes the question of one table. One indexed read.
 * @param where SQL that narrows the rows; its parameters from `$3` on are `Values`
 */
export function existenceIn<Values extends readonly string[] = []>(table: string, where = 'true') {
  const statement = `SELECT 1 FROM ${table} WHERE id = $1 AND tenant_id = $2 AND ${where}`;
  return async (queryable: Queryable, tenantId: string, id: string, ...values: Values): Promise<boolean> =>
    (await queryable.query(statement, [id, tenantId, ...values])).rowCount > 0;
}
