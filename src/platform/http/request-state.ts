// The state of a request in the shell, in Koa's `ctx.state`. Services receive the RequestContext instead.
import type { Middleware as KoaMiddleware, ParameterizedContext } from 'koa';
import type { RequestContext } from '../context.ts';

export type RequestState = {
  requestId: string;
  address: string;
  /** Path below the tenant's address; before the tenant is located, the whole path. */
  path: string;
  /** The slug in the address; undefined when no tenant can have the address. */
  slug?: string | undefined;
  /** Set once the tenant is known. Authorization and idempotency replace it with a context that has more members. */
  context?: RequestContext;
  operation?: string;
  /** The request has passed the checks of token and scope, and its tenant's limit counts it. */
  isAdmitted?: boolean;
  /** The request proved right, and is refused because its client has used up its share of the tenant's limit. */
  isOverShare?: boolean;
  /** Called when the access token is valid, or what was sent proved right: then it does not count for its address. */
  onProven?: () => void;
  /** Of a held request: checks its access token again, which may have ended. */
  authenticateAgain?: () => Promise<unknown>;
  /** Milliseconds for which the request was held. */
  heldMs?: number;
  params?: unknown;
  input?: RequestInput;
};

/** The validated parts. `sent` is the parsed body before the schema changes it, `bytes` the body as it was sent. */
export type RequestInput = { params: unknown; query: unknown; body: unknown; sent: unknown; bytes: Buffer };

export type Context = ParameterizedContext<RequestState>;
export type Middleware = KoaMiddleware<RequestState>;

/** @throws Error when the tenant is not resolved yet */
export function contextOf(ctx: Context): RequestContext {
  if (ctx.state.context === undefined) throw new Error('The tenant is not resolved yet.');
  return ctx.state.context;
}

/**
 * Each value of a header as it was sent, because Node joins several `dpop` headers into one text.
 * @param name in lower case
 */
export function headerValues(ctx: Context, name: string): string[] {
  const raw = ctx.req.rawHeaders;
  return raw.filter((_, index) => index % 2 === 1 && raw[index - 1]?.toLowerCase() === name);
}

/**
 * How often a header was sent, because Node keeps only the first of several `authorization` or `content-type` headers.
 */
export function countHeader(ctx: Context, name: string): number {
  const raw = ctx.req.rawHeaders;
  let count = 0;
  for (let index = 0; index < raw.length; index += 2) {
    const candidate = raw[index];
    if (candidate?.length === name.length && candidate.toLowerCase() === name) count += 1;
  }
  return count;
}
