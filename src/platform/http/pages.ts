// Answers requests for pages of a tenant: HTML and what belongs to it, for browsers. They take no token.
import type { Tenant } from '../context.ts';
import { type Document, sendDocument } from './document.ts';
import { setHeaders } from './rate-limit-headers.ts';
import { contextOf, type Middleware } from './request-state.ts';

/** @param path below the tenant's address */
export type PageRequest = {
  readonly path: string;
  readonly tenant: Pick<Tenant, 'baseUrl' | 'issuerUrl' | 'name'>;
  readonly accept: string | undefined;
};

export type Page = {
  readonly document: Document;
  readonly type: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The name of the request in logs and metrics. */
  readonly operation: string;
};

/** @returns undefined for a path without a page */
export type FindPage = (request: PageRequest) => Page | undefined;

/** Answers GET and HEAD for each path that one of `finders` knows, and leaves all others to the routes. */
export function answerPages(finders: readonly FindPage[]): Middleware {
  return async (ctx, next) => {
    if (ctx.method !== 'GET' && ctx.method !== 'HEAD') return next();
    const request = {
      path: ctx.state.path,
      tenant: contextOf(ctx).tenant,
      accept: ctx.req.headers.accept,
    };
    const page = findFirst(finders, request);
    if (page === undefined) return next();
    ctx.state.operation = page.operation;
    setHeaders(ctx.res, page.headers);
    await sendDocument(ctx, page.document, page.type);
  };
}

function findFirst(finders: readonly FindPage[], request: PageRequest): Page | undefined {
  for (const find of finders) {
    const page = find(request);
    if (page !== undefined) return page;
  }
  return undefined;
}
