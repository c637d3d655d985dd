// Allows pages of any origin to read public documents such as keys and metadata, and to call the routes of an agent. No
// cookie counts there, so that a page can do nothing that its script could not do elsewhere.
import type { ServerResponse } from 'node:http';
import type { Middleware } from './request-state.ts';
import { type Route, takesToken } from './route.ts';

/** True for a document that verifiers of any kind read: no limit and no turn of the tenant binds it. */
export function isPublicDocument(route: Route): boolean {
  const wellKnown = route.method === 'GET' && !takesToken(route) && route.path.startsWith('/.well-known/');
  return route.isDocument ?? wellKnown;
}

/** True when pages of any origin may read the route's answers (Fetch standard, CORS protocol). */
export function isReadableAnywhere(route: Route): boolean {
  return route.cors ?? isPublicDocument(route);
}

/** Adds the CORS headers to the answers of a route that pages of any origin may call. */
export function allowAnyOrigin(route: Route): Middleware {
  if (!isReadableAnywhere(route)) return (_ctx, next) => next();
  return (ctx, next) => {
    setAnyOrigin(ctx.res);
    return next();
  };
}

/** The headers of answers that clients act on. A page of another origin reads none that is not named here. */
export const EXPOSED: readonly string[] = [
  'date',
  'x-request-id',
  'ratelimit',
  'ratelimit-policy',
  'retry-after',
  'www-authenticate',
  'allow',
  'dpop-nonce',
  'idempotency-replayed',
  'location',
  'link',
  'etag',
  'signature',
  'signature-input',
  'warning',
  'deprecation',
  'sunset',
];

/** Allows scripts of any origin to read an answer and the headers that clients need. */
export function setAnyOrigin(response: ServerResponse): void {
  response.setHeader('access-control-allow-origin', '*');
  response.setHeader('access-control-expose-headers', EXPOSED.join(', '));
}

/** Answers a preflight request: any header and these methods are allowed for a day. */
export function setPreflight(response: ServerResponse, methods: readonly string[]): void {
  setAnyOrigin(response);
  response.setHeader('access-control-allow-methods', methods.join(', '));
  // `*` does not include `authorization` (Fetch standard, CORS-preflight fetch).
  response.setHeader('access-control-allow-headers', '*, authorization');
  response.setHeader('access-control-max-age', '86400');
}
