// Pages of a list in the order of UUIDv7 ids, newest first. Clients treat a cursor as opaque. Pure.
import { parse, stringify } from 'uuid';
import { decodeBase64, encodeBase64Url } from '../crypto/base64.ts';
import { invalidField } from '../errors/service-error.ts';

/** Items on a page: the least and the most that a request may ask for, and the default. */
export const PAGE_LIMIT = { least: 1, most: 200, usual: 50 } as const;

/**
 * The base64url form of the 16 bytes of a UUID. The ninth character holds the UUID's version, the eleventh its variant
 * (RFC 9562 §4), the last only two bits.
 */
export const CURSOR = /^[A-Za-z0-9_-]{8}[E-Za-j][A-Za-z0-9_-][CGKOSWaeimquy26-][A-Za-z0-9_-]{10}[AQgw]$/;

export type PageRequest = { readonly limit: number; readonly cursor?: string | undefined };

export type Page<Item> = { readonly data: readonly Item[]; readonly nextCursor: string | null };

/**
 * Encodes the last id of a page as the opaque cursor of the next page. It marks a point in time, so it also works with
 * another list.
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

/** Cuts a page from at most `limit` + 1 rows; the extra row shows that there is a next page. */
export function toPage<Row extends { readonly id: string }>(rows: readonly Row[], limit: number): Page<Row> {
  const data = rows.slice(0, limit);
  const last = data.at(-1);
  return { data, nextCursor: rows.length > limit && last !== undefined ? encodeCursor(last.id) : null };
}
