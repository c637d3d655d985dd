// Reads the rows of a resource over the HTTP interface, and finds the one that somebody has named.
import { findNearest } from '../../platform/errors/issue-words.ts';
import type { Resource } from './resources.ts';
import { CommandFailure } from './runtime.ts';
import { type Json, queryOf, type TenantApi } from './tenant-api.client.ts';

/** The most rows of one answer. */
const PAGE = 200;
/** How many of the newest rows are compared with a name or a part of an id. */
const LOOKED_AT = 2_000;
/** The least characters of a part of an id. */
const SHORTEST_PART = 4;
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

type Api = Pick<TenantApi, 'call'>;

type Listing = { readonly limit: number; readonly query?: Readonly<Record<string, string | undefined>> };

/** @param path of the list; a feed is asked for its newest rows @returns at most `limit` rows, the newest first */
export async function listRows(
  api: Api,
  path: string,
  { limit, query = {} }: Listing,
  { isFeed }: Pick<Resource, 'isFeed'> = {},
): Promise<Json[]> {
  const rows: Json[] = [];
  for (let place: Record<string, string> = isFeed ? { order: 'desc' } : {}; ; ) {
    const size = String(Math.min(PAGE, limit - rows.length));
    const page = await api.call('GET', `${path}${queryOf({ ...query, ...place, limit: size })}`);
    rows.push(...(page.data as Json[]));
    const isLast = isFeed ? page.has_more !== true : typeof page.next_cursor !== 'string';
    if (rows.length >= limit || isLast) return rows;
    place = { ...place, [isFeed ? 'after' : 'cursor']: String(page.next_cursor) };
  }
}

/**
 * Finds the id of the row that `text` names: its id, the beginning or the end of its id, or one of its names.
 * @throws CommandFailure when it names none or several, with those that it may mean
 */
export async function findRowId(
  api: Api,
  { name, columns: [id], names, isFeed }: Resource,
  path: string,
  text: string,
): Promise<string> {
  if (isFeed || UUID.test(text)) return text;
  const rows = await listRows(api, path, { limit: LOOKED_AT });
  const idOf = (row: Json) => String(row[id]);
  const namesOf = (row: Json) =>
    names.map((field) => row[field]).filter((value) => typeof value === 'string');
  const named = rows.filter((row) => namesOf(row).includes(text));
  const asked = text.toLowerCase();
  const begun = rows.filter(
    (row) =>
      asked.length >= SHORTEST_PART &&
      [idOf(row), ...namesOf(row)].some((each) => each.startsWith(asked) || each.endsWith(asked)),
  );
  const found = named.length > 0 ? named : begun;
  const [only] = found;
  if (only !== undefined && found.length === 1) return idOf(only);
  if (only !== undefined) {
    const shown = found.slice(0, 5).map((row) => `  ${[idOf(row), ...namesOf(row)].join('  ')}`);
    throw new CommandFailure(
      [`"${text}" names ${found.length} of the ${name} rows; more of the id is needed:`, ...shown].join('\n'),
    );
  }
  const nearest = findNearest(text, rows.flatMap(namesOf));
  const seen = rows.length >= LOOKED_AT ? ` among the newest ${LOOKED_AT}` : '';
  throw new CommandFailure(
    `There is no ${name} "${text}"${seen}.${nearest === undefined ? '' : ` Did you mean "${nearest}"?`}`,
  );
}
