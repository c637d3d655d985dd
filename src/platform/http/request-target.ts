// Reads the request's target. Refuses targets that Node's parser accepts and no router can route.
import { ServiceError } from '../errors/service-error.ts';
import type { Context, Middleware } from './request-state.ts';

/** Sets the path; `invalid_request` for a target that is no URL, and for HTTP/1.1 without `Host` (RFC 9112 §3.2). */
export function readTarget(): Middleware {
  return (ctx, next) => {
    if (ctx.req.headers.host === undefined && ctx.req.httpVersion === '1.1')
      throw new ServiceError('invalid_request', { detail: 'The Host header is missing.' });
    ctx.state.path = pathOf(ctx);
    return next();
  };
}

function pathOf(ctx: Context): string {
  try {
    // Koa's type ignores that a target such as `*` has no path.
    return (ctx.path as string | null) ?? '';
  } catch (error) {
    throw new ServiceError('invalid_request', { detail: 'The request target is malformed.', cause: error });
  }
}
