// The entities whose workflow should run now. The rooms list them for a comparison with the running workflows.
import { NIL } from 'uuid';
import { many } from '../database/statements.ts';
import type { Queryable } from '../database/transaction.ts';

export type ExpectedWorkflow = { readonly tenantId: string; readonly entityId: string };

/** A page by keyset: at most `limit` entities with ids after `after`, or from the first id. */
export type ExpectedPage = { readonly after?: string | undefined; readonly limit: number };

/** @param text its rows are in ascending order of their ids; $1 is the id before the page, $2 its length */
export function listBy(text: string) {
  const list = many<ExpectedWorkflow, [after: string, limit: number]>(text);
  return (queryable: Queryable, { after = NIL, limit }: ExpectedPage) => list(queryable, after, limit);
}
