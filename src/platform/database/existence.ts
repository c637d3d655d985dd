// Whether a tenant has a row. The shell asks before it reads a request, so that an unknown id is 404.
import { changed } from './statements.ts';

/**
 * Makes the question of one table. One indexed read.
 * @param where SQL that narrows the rows; its parameters from `$3` on are `Values`
 */
export const existenceIn = <Values extends readonly string[] = []>(table: string, where = 'true') =>
  changed<[tenantId: string, id: string, ...Values]>(
    `SELECT 1 FROM ${table} WHERE id = $2 AND tenant_id = $1 AND ${where}`,
  );
