// Pages of a list in the order of UUIDv7 ids, newest first. Clients treat a cursor as opaque. Pure.
import { parse, stringify } from 'uuid';
import { decodeBase64, encodeBase64Url } from '../crypto/base64.ts';
import { invalidField } from '../errors/service-error.ts';

/** Items on a page: the least and the most that a request may ask for, and the default. */
export const PAGE_LIMIT = { least: 1, most: 200, usual: 50 } as const;

/** 16 bytes of a UUID as base64url: version in the ninth, variant in the eleventh character (RFC 9562 §4). */
export const CURSOR = /^[A-Za-z0-9_-]{8}[E-Za-j][A-Za-z0-9_-][CGKOSWaeimquy26-][A-Za-z0-9_-]{10}[AQgw]$/;

export type PageRequest = { readonly limit: number; readonly cursor?: string | undefined };

export type Page<Item> = { readonly data: readonly Item[]; readonly nextCursor: string | null };

/** The last id of a page as the opaque cursor of the next one. It marks a point in time, so it fits another list. */
export function encodeCursor(id: string): string {
  return encodeBase64Url(parse(id));
}

/** @returns the id before the page, undefined for the first @throws ServiceError `invalid_request` for another text */
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
