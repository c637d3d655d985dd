// Answers the routes without a tenant: liveness, readiness, openapi.json and llms.txt. They require no token and have no rate
// limit.
import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import Negotiator from 'negotiator';
import { toProblem } from '../errors/problem.ts';
import { ServiceError } from '../errors/service-error.ts';
import { setAnyOrigin } from './cors.ts';
import { matchesEtag } from './etag.ts';
import type { Health } from './health.ts';
import type { Context, Middleware } from './request-state.ts';

/**
 * @param options.health called for each `/readyz`
 * @param options.openapi the document of `/openapi.json`
 * @param options.llmsText the text of `/llms.txt`
 * @param options.errorTypeBase base address of error type URIs
 */
export function answerSystemRoutes({
  health,
  openapi,
  llmsText,
  errorTypeBase,
}: {
  health: Health;
  openapi: object;
  llmsText: string;
  errorTypeBase: string;
}): Middleware {
  const document = createDocument(JSON.stringify(openapi));
  const text = createDocument(llmsText);
  const answers: Readonly<Record<string, (ctx: Context) => void | Promise<void>>> = {
    '/healthz': (ctx) => send(ctx, JSON.stringify({ status: 'ok' })),
    '/readyz': (ctx) => answerReadiness(ctx, health, errorTypeBase),
    '/openapi.json': (ctx) => sendDocument(ctx, document),
    '/llms.txt': (ctx) => sendDocument(ctx, text, 'text/plain; charset=utf-8'),
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

type Coding = 'br' | 'gzip' | 'identity';
type Form = { readonly etag: string; readonly bytes: Promise<Buffer> };

/** The forms of a document by content coding, each with its own strong tag. A form is made once, when it is asked for. */
function createDocument(text: string): (coding: Coding) => Form {
  const hash = createHash('sha256').update(text).digest('base64url');
  const plain = Buffer.from(text);
  const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } };
  const make = {
    br: () => promisify(brotliCompress)(plain, quality),
    gzip: () => promisify(gzip)(plain),
    identity: () => Promise.resolve(plain),
  };
  const made = new Map<Coding, Form>();
  return (coding) => {
    const form = made.get(coding) ?? {
      etag: coding === 'identity' ? `"${hash}"` : `"${hash}-${coding}"`,
      bytes: make[coding](),
    };
    made.set(coding, form);
    return form;
  };
}

async function sendDocument(
  ctx: Context,
  document: (coding: Coding) => Form,
  type = 'application/json',
): Promise<void> {
  const { headers } = ctx.req;
  const asked = new Negotiator({ headers }).encodings(['br', 'gzip', 'identity']);
  const coding = (asked[0] ?? 'identity') as Coding;
  const { etag, bytes } = document(coding);
  ctx.res.setHeader('etag', etag);
  ctx.res.setHeader('cache-control', 'public, max-age=300');
  ctx.res.setHeader('vary', 'accept-encoding');
  setAnyOrigin(ctx.res);
  if (matchesEtag(headers['if-none-match'], etag)) {
    ctx.status = 304;
    return;
  }
  if (coding !== 'identity') ctx.res.setHeader('content-encoding', coding);
  send(ctx, await bytes, type);
}

function send(ctx: Context, body: string | Buffer, type = 'application/json'): void {
  ctx.res.setHeader('content-type', type);
  ctx.status = 200;
  ctx.body = body;
}
