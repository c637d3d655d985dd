// Answers the routes without a tenant: liveness, readiness and openapi.json. They require no token and have no rate
// limit.
import { createHash } from 'node:crypto';
import { toProblem } from '../errors/problem.ts';
import { ServiceError } from '../errors/service-error.ts';
import { setAnyOrigin } from './cors.ts';
import { matchesEtag } from './etag.ts';
import type { Health } from './health.ts';
import type { Context, Middleware } from './request-state.ts';

/**
 * @param options.health called for each `/readyz`
 * @param options.openapi the document of `/openapi.json`
 * @param options.errorTypeBase base address of error type URIs
 */
export function answerSystemRoutes({
  health,
  openapi,
  errorTypeBase,
}: {
  health: Health;
  openapi: object;
  errorTypeBase: string;
}): Middleware {
  const text = JSON.stringify(openapi);
  const etag = `"${createHash('sha256').update(text).digest('base64url')}"`;
  const answers: Readonly<Record<string, (ctx: Context) => void | Promise<void>>> = {
    '/healthz': (ctx) => send(ctx, JSON.stringify({ status: 'ok' })),
    '/readyz': (ctx) => answerReadiness(ctx, health, errorTypeBase),
    '/openapi.json': (ctx) => {
      ctx.res.setHeader('etag', etag);
      ctx.res.setHeader('cache-control', 'public, max-age=300');
      setAnyOrigin(ctx.res);
      send(ctx, text);
      if (matchesEtag(ctx.req.headers['if-none-match'], etag)) ctx.status = 304;
    },
  };
  const paths = new Map(Object.entries(answers));
  return (ctx, next) => {
    const answer = paths.get(ctx.state.path);
    if (answer === undefined) return next();
    if (ctx.method !== 'GET' && ctx.method !== 'HEAD')
      throw new ServiceError('method_not_allowed', { headers: { allow: 'GET, HEAD' } });
    ctx.state.operation = ctx.state.path;
    return Promise.resolve(answer(ctx));
  };
}

/** 200 with the states of the parts, or 503 as a problem with the states as further members (RFC 7807 §3.2). */
async function answerReadiness(ctx: Context, health: Health, errorTypeBase: string): Promise<void> {
  const { ready, draining, database, temporal } = await health.ready();
  if (ready) return send(ctx, JSON.stringify({ status: 'ready', database, temporal }));
  const error = new ServiceError('temporarily_unavailable', {
    detail: draining ? 'This process is shutting down.' : `The database is not usable: ${database}.`,
    retryAfterSeconds: 1,
  });
  const problem = toProblem(error, { errorTypeBase, requestId: ctx.state.requestId });
  ctx.res.setHeader('retry-after', '1');
  send(ctx, JSON.stringify({ ...problem.body, database, temporal }), 'application/problem+json');
  ctx.status = problem.status;
}

function send(ctx: Context, body: string, type = 'application/json'): void {
  ctx.res.setHeader('content-type', type);
  ctx.status = 200;
  ctx.body = body;
}
