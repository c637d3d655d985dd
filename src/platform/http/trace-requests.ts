// The span of each request, without the raw path, query string, tokens and body.
import type { Tracing } from '../tracing/tracing.ts';
import type { Middleware } from './request-state.ts';
import type { Route } from './route.ts';

/** Paths that load balancers and monitors request frequently. */
const UNTRACED = new Set([
  '/healthz',
  '/readyz',
  '/openapi.json',
  '/llms.txt',
  '/robots.txt',
  '/favicon.ico',
]);

/**
 * Traces the work of a request, within the caller's trace if the request names one (`traceparent`, W3C Trace Context).
 */
export function traceRequests(tracing: Tracing, routes: readonly Route[]): Middleware {
  const paths = new Map(routes.map(({ operationId, path }) => [operationId, path]));
  return (ctx, next) => {
    // Koa's path throws for a malformed target, which is refused further in.
    if (UNTRACED.has(ctx.req.url ?? '')) return next();
    const sent = ctx.req.headers.traceparent;
    const parent = typeof sent === 'string' ? sent : undefined;
    const attributes = { 'http.request.method': ctx.method };
    return tracing.span(ctx.method, { kind: 'server', parent, root: true, attributes }, async (span) => {
      await next();
      const { operation, context, requestId } = ctx.state;
      const route = operation === undefined ? undefined : paths.get(operation);
      if (route !== undefined) span.rename(`${ctx.method} ${route}`);
      span.set({
        'http.route': route,
        'http.response.status_code': ctx.status,
        'countersign.request_id': requestId,
        'countersign.tenant_id': context?.tenant.id,
      });
      if (ctx.status >= 500) span.fail(String(ctx.status));
    });
  };
}
