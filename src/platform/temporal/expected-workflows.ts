// The entities whose workflow should run now. The rooms list them for a comparison with the running workflows.
import type { Queryable } from '../database/transaction.ts';

export type ExpectedWorkflow = { readonly tenantId: string; readonly entityId: string };

/** A page by keyset: at most `limit` entities with ids after `after`, or from the first id. */
export type ExpectedPage = { readonly after?: string | undefined; readonly limit: number };

/** The lowest UUID. */
const BEFORE_ALL = '00000000-0000-0000-0000-000000000000';

/** @returns the values of a statement with the id before the page as $1 and the length of the page as $2 */
export function pageValues({ after = BEFORE_ALL, limit }: ExpectedPage): [after: string, limit: number] {
  return [after, limit];
}

/** @param statement has the values of `pageValues`; its rows are in ascending order of their ids */
export function listBy(statement: string) {
  return async (queryable: Queryable, page: ExpectedPage): Promise<ExpectedWorkflow[]> =>
    (await queryable.query<ExpectedWorkflow>(statement, pageValues(page))).rows;
}

/** @param statement has one row, with the number as `count` */
export function countBy(statement: string) {
  return async (queryable: Queryable): Promise<number> =>
    (await queryable.query<{ count: number }>(statement)).rows[0]?.count ?? 0;
}
