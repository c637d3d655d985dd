// Logs one line for each request, without tokens, secrets, query string and body.
import { performance } from 'node:perf_hooks';
import type { Logger } from 'pino';
import type { Middleware } from './request-state.ts';

const SLOW_MILLISECONDS = 1_000;

/**
 * Logs successes at `debug`, refused and slow requests at `info`, failures at `warn`. The time for which a request was
 * held is not its own.
 */
export function logRequests(logger: Logger): Middleware {
  return async (ctx, next) => {
    const started = performance.now();
    await next();
    const milliseconds = performance.now() - started - (ctx.state.heldMs ?? 0);
    const { state, status } = ctx;
    const level =
      status >= 500 ? 'warn' : status >= 400 || milliseconds > SLOW_MILLISECONDS ? 'info' : 'debug';
    if (!logger.isLevelEnabled(level)) return;
    logger[level](
      {
        event: 'http.request',
        request_id: state.requestId,
        tenant: state.context?.tenant.slug,
        client: state.context?.principal?.clientId,
        method: ctx.method,
        route: state.operation,
        status,
        ms: Math.round(milliseconds * 10) / 10,
        address: state.address,
      },
      'request',
    );
  };
}
