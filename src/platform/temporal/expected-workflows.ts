// What the rooms say of the entities whose workflow should be running now, for whoever compares that with what runs. Pure.

/** An entity whose workflow should be running. */
export type ExpectedWorkflow = { readonly tenantId: string; readonly entityId: string };

/** A page by keyset: at most `limit` entities whose ids come after `after`; without it from the first. */
export type ExpectedPage = { readonly after?: string | undefined; readonly limit: number };

/** Comes before every id. */
const BEFORE_ALL = '00000000-0000-0000-0000-000000000000';

/** @returns the values of a statement that takes the id after which the page begins as $1, and its length as $2 */
export function pageValues({ after = BEFORE_ALL, limit }: ExpectedPage): [after: string, limit: number] {
  return [after, limit];
}
