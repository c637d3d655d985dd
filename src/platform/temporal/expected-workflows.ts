// The entities whose workflow should be running now, as the rooms report them for a comparison with the running
// workflows. Pure.

/** An entity whose workflow should be running. */
export type ExpectedWorkflow = { readonly tenantId: string; readonly entityId: string };

/** A page by keyset: at most `limit` entities whose ids come after `after`; without it from the first. */
export type ExpectedPage = { readonly after?: string | undefined; readonly limit: number };

/** Sorts before every id. */
const BEFORE_ALL = '00000000-0000-0000-0000-000000000000';

/** @returns the values of a statement that takes the id after which the page begins as $1, and its length as $2 */
export function pageValues({ after = BEFORE_ALL, limit }: ExpectedPage): [after: string, limit: number] {
  return [after, limit];
}
