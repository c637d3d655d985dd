// The answers that handlers share: by status, pages of a list, and the header `Location`.
import { type ZodType, z } from 'zod';
import type { RequestContext } from '../context.ts';
import type { Page } from '../database/page.ts';
import { tagOf } from './etag.ts';
import type { HandlerResult } from './route.ts';

type Headers = HandlerResult['headers'];

/** Status 200. */
export function ok(body: unknown, headers?: Headers): HandlerResult {
  return answer(200, body, headers);
}

/** Status 201 with the new resource. */
export function created(body: unknown, headers?: Headers): HandlerResult {
  return answer(201, body, headers);
}

/** Status 202: the work continues after the answer. */
export function accepted(body: unknown, headers?: Headers): HandlerResult {
  return answer(202, body, headers);
}

/** Status 204 after the work is done. */
export async function noContent(work: Promise<unknown>): Promise<HandlerResult> {
  await work;
  return { status: 204 };
}

/** Status 200 with a page of a list, whose items `present` converts; its schema is `pageSchema`. */
export function page<Item>(
  { data, nextCursor }: Page<Item>,
  present: (item: Item) => unknown,
): HandlerResult {
  return { status: 200, body: { data: data.map((item) => present(item)) }, nextCursor };
}

/** The schema of a page. @param id name of its component in openapi.json */
export function pageSchema<Item extends ZodType>(item: Item, id: string) {
  return z.strictObject({ data: z.array(item), next_cursor: z.string().nullable() }).meta({ id });
}

/** The headers of a `publicDocument`, for its route. */
export const DOCUMENT_HEADERS = ['cache-control', 'etag'] as const;

/** The answer 304, which the HTTP shell gives to a client that has the document. */
export const NOT_MODIFIED = {
  description: 'Not modified since the ETag in If-None-Match',
  headers: DOCUMENT_HEADERS,
};

/** Status 200 with a document that any cache may keep. @param options.maxAge seconds */
export function publicDocument(
  document: object,
  { contentType, maxAge }: { readonly contentType: string; readonly maxAge: number },
): HandlerResult {
  return ok(document, {
    'content-type': contentType,
    'cache-control': `public, max-age=${maxAge}`,
    etag: tagOf([JSON.stringify(document)]),
  });
}

/** The header `Location`. @param path of the new resource, below the tenant's address */
export function locate({ tenant }: RequestContext, path: string): { location: string } {
  return { location: `${tenant.baseUrl}${path}` };
}

function answer(status: number, body: unknown, headers: Headers): HandlerResult {
  return headers === undefined ? { status, body } : { status, body, headers };
}
