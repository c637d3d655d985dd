// Allows pages of any origin to read public documents: keys and metadata, no route that takes credentials.
import type { ServerResponse } from 'node:http';
import type { Middleware } from './request-state.ts';
import { type Route, takesToken } from './route.ts';

/** Whether pages of any origin may read the route's answers (Fetch standard, CORS protocol). */
export function isReadableAnywhere(route: Route): boolean {
  const wellKnown = route.method === 'GET' && !takesToken(route) && route.path.startsWith('/.well-known/');
  return route.cors ?? wellKnown;
}

/** Marks the answers of such a route. */
export function allowAnyOrigin(route: Route): Middleware {
  if (!isReadableAnywhere(route)) return (_ctx, next) => next();
  return (ctx, next) => {
    setAnyOrigin(ctx.res);
    return next();
  };
}

/** Lets scripts of any origin read an answer and the headers that clients need. */
export function setAnyOrigin(response: ServerResponse): void {
  response.setHeader('access-control-allow-origin', '*');
  response.setHeader(
    'access-control-expose-headers',
    'x-request-id, etag, retry-after, www-authenticate, dpop-nonce',
  );
}

/** Answers a preflight: any header, these methods, for a day. */
export function setPreflight(response: ServerResponse, methods: readonly string[]): void {
  setAnyOrigin(response);
  response.setHeader('access-control-allow-methods', methods.join(', '));
  response.setHeader('access-control-allow-headers', 'authorization, content-type, dpop, x-request-id');
  response.setHeader('access-control-max-age', '86400');
}
