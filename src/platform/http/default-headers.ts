// Headers of every answer unless a route sets its own: answers of an authorization server are not to be stored or
// sniffed.
import type { Middleware } from './request-state.ts';

/** RFC 6749 §5.1 asks for `no-store` on token answers; here it is the default of all. */
export function setDefaultHeaders(): Middleware {
  return (ctx, next) => {
    ctx.res.setHeader('cache-control', 'no-store');
    ctx.res.setHeader('x-content-type-options', 'nosniff');
    return next();
  };
}
