// The state of a request in the shell, kept in Koa's `ctx.state`. Services get the RequestContext instead.
import type { Middleware as KoaMiddleware, ParameterizedContext } from 'koa';
import type { RequestContext } from '../context.ts';

export type RequestState = {
  requestId: string;
  /** The client's IP address. */
  address: string;
  /** Path below the tenant's address; the whole path until the tenant's address is located. */
  path: string;
  /** The slug that the address names; undefined for an address that cannot have a tenant. */
  slug?: string | undefined;
  /** Set once the tenant is known; authorization and idempotency replace it by a fuller one. */
  context?: RequestContext;
  /** The route's operationId. */
  operation?: string;
  /** Validated path parameters of an existing resource. */
  params?: unknown;
  /** Validated parts of the request, set by the guard. */
  input?: RequestInput;
};

/** The validated parts, and the body as it was `sent`, parsed but not yet changed by a schema. */
type RequestInput = { params: unknown; query: unknown; body: unknown; sent: unknown };

export type Context = ParameterizedContext<RequestState>;
export type Middleware = KoaMiddleware<RequestState>;

/** The context of a request whose tenant is known. */
export function contextOf(ctx: Context): RequestContext {
  if (ctx.state.context === undefined) throw new Error('The tenant is not resolved yet.');
  return ctx.state.context;
}

/** Each value of a header as it was sent: Node joins several `dpop` headers into one text. @param name in lower case */
export function headerValues(ctx: Context, name: string): string[] {
  const raw = ctx.req.rawHeaders;
  return raw.filter((_, index) => index % 2 === 1 && raw[index - 1]?.toLowerCase() === name);
}

/** How often a header was sent: Node keeps only the first of several `authorization` or `content-type` headers. */
export function countHeader(ctx: Context, name: string): number {
  const raw = ctx.req.rawHeaders;
  let count = 0;
  for (let index = 0; index < raw.length; index += 2) {
    const candidate = raw[index];
    if (candidate?.length === name.length && candidate.toLowerCase() === name) count += 1;
  }
  return count;
}
