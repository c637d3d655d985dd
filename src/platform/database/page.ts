// Pages of a list in the order of UUIDv7 ids, newest first. Clients treat a cursor as opaque; rooms see the id. Pure.
import { createHash } from 'node:crypto';
import { NIL, parse, stringify } from 'uuid';
import { decodeBase64, encodeBase64Url } from '../crypto/base64.ts';
import { invalidField } from '../errors/service-error.ts';

/** Items on a page: the least and the most that a request may ask for, and the default. */
export const PAGE_LIMIT = { least: 1, most: 200, usual: 50 } as const;

/**
 * The base64url form of the 16 bytes of a UUID and the two of its list. The ninth character holds the UUID's version,
 * the eleventh its variant (RFC 9562 §4).
 */
export const CURSOR = /^[A-Za-z0-9_-]{8}[E-Za-j][A-Za-z0-9_-][CGKOSWaeimquy26-][A-Za-z0-9_-]{13}$/;

/** `cursor`: the id after which the page begins; without it, it is the first page. */
export type PageRequest = { readonly limit: number; readonly cursor?: string | undefined };

/** `nextCursor`: the id after which the next page begins; null: there is none. */
export type Page<Item> = { readonly data: readonly Item[]; readonly nextCursor: string | null };

/** Cursors of one list. Those of another list are refused. @param list the path of its route */
export function createCursors(list: string) {
  const mark = createHash('sha256').update(list).digest().subarray(0, 2);
  return {
    /** @param id the last one of a page */
    encode: (id: string): string => encodeBase64Url(Buffer.concat([parse(id), mark])),

    /** @throws ServiceError `invalid_request` for a text that `encode` did not make */
    decode(cursor: string): string {
      const bytes = CURSOR.test(cursor) ? decodeBase64(cursor) : null;
      if (bytes === null || !mark.equals(bytes.subarray(16)))
        throw invalidField('query.cursor', 'is not a cursor that this list gave');
      return stringify(bytes.subarray(0, 16));
    },
  };
}

/** Cuts a page from at most `limit` + 1 rows; the extra row shows that there is a next page. */
export function toPage<Row extends { readonly id: string }>(rows: readonly Row[], limit: number): Page<Row> {
  const data = rows.slice(0, limit);
  const last = data.at(-1);
  return { data, nextCursor: rows.length > limit && last !== undefined ? last.id : null };
}

/**
 * Works page by page, each after the last id of the one before, until a page is empty.
 * @param page works on the ids after `after` @returns how many ids there were
 */
export async function workThrough(page: (after: string) => Promise<readonly string[]>): Promise<number> {
  let count = 0;
  for (let after: string | undefined = NIL; after !== undefined; ) {
    const ids: readonly string[] = await page(after);
    count += ids.length;
    after = ids.at(-1);
  }
  return count;
}
