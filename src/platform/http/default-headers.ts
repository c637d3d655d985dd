// Default headers of every answer, which a route can replace. They forbid caches and content sniffing.
import type { Middleware } from './request-state.ts';

/** RFC 6749 §5.1 requires `no-store` for token answers; here it is the default of all answers. */
export function setDefaultHeaders(): Middleware {
  return (ctx, next) => {
    ctx.res.setHeader('cache-control', 'no-store');
    ctx.res.setHeader('x-content-type-options', 'nosniff');
    return next();
  };
}
