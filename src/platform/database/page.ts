// Pages of a list that is ordered by UUIDv7 ids, newest first. Pure. `cursor` is opaque for clients.
import { parse, stringify } from 'uuid';
import { decodeBase64, encodeBase64Url } from '../crypto/base64.ts';
import { invalidField } from '../errors/service-error.ts';

/** Items on a page: the least and the most that a request may ask for, and the default. */
export const PAGE_LIMIT = { least: 1, most: 200, usual: 50 } as const;

/**
 * The form of `encodeCursor`: the 16 bytes of a UUID in base64url. The ninth character holds the UUID's version, the
 * eleventh its variant (RFC 9562 §4), the last only two bits.
 */
export const CURSOR = /^[A-Za-z0-9_-]{8}[E-Za-j][A-Za-z0-9_-][CGKOSWaeimquy26-][A-Za-z0-9_-]{10}[AQgw]$/;

/** The parameters of a list route; `cursor` is the `next_cursor` of the page before. */
export type PageRequest = { readonly limit: number; readonly cursor?: string | undefined };

/** `nextCursor` is null on the last page. */
export type Page<Item> = { readonly data: readonly Item[]; readonly nextCursor: string | null };

/**
 * The id after which a page begins, as an opaque text: the id's 16 bytes in base64url. It only names a point in time:
 * with the cursor of another list, a list continues at the same point.
 */
export function encodeCursor(id: string): string {
  return encodeBase64Url(parse(id));
}

/**
 * @returns the id after which the page begins, or undefined for the first page
 * @throws ServiceError `invalid_request` for a text that `encodeCursor` did not make
 */
export function decodeCursor(cursor: string | undefined): string | undefined {
  if (cursor === undefined) return undefined;
  const bytes = CURSOR.test(cursor) ? decodeBase64(cursor) : null;
  if (bytes === null) throw invalidField('query.cursor', 'is not a cursor that a list gave');
  return stringify(bytes);
}

/**
 * Cuts a page from rows that were read with one more than `limit`: the extra row only says that there is a next page.
 */
export function toPage<Row extends { readonly id: string }>(rows: readonly Row[], limit: number): Page<Row> {
  const data = rows.slice(0, limit);
  const last = data.at(-1);
  return { data, nextCursor: rows.length > limit && last !== undefined ? encodeCursor(last.id) : null };
}
