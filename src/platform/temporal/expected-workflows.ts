// The entities whose workflow should run now. The rooms list them for a comparison with the running workflows.
import { NIL } from 'uuid';
import type { Queryable } from '../database/transaction.ts';

export type ExpectedWorkflow = { readonly tenantId: string; readonly entityId: string };

/** A page by keyset: at most `limit` entities with ids after `after`, or from the first id. */
export type ExpectedPage = { readonly after?: string | undefined; readonly limit: number };

/** @param statement its rows are in ascending order of their ids; $1 is the id before the page, $2 its length */
export function listBy(statement: string) {
  return async (queryable: Queryable, { after = NIL, limit }: ExpectedPage): Promise<ExpectedWorkflow[]> =>
    (await queryable.query<ExpectedWorkflow>(statement, [after, limit])).rows;
}

/** @param statement has one row, with the number as `count` */
export function countBy(statement: string) {
  return async (queryable: Queryable): Promise<number> =>
    (await queryable.query<{ count: number }>(statement)).rows[0]?.count ?? 0;
}
