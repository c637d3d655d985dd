// Answers the routes without a tenant: liveness, readiness, openapi.json, llms.txt, and what browsers and crawlers ask
// of every host. They require no token.
import { toProblem } from '../errors/problem.ts';
import { ServiceError, tryAgain } from '../errors/service-error.ts';
import { setAnyOrigin } from './cors.ts';
import { createDocument, type Document, sendDocument } from './document.ts';
import type { Health } from './health.ts';
import type { Context, Middleware } from './request-state.ts';

/**
 * Answers `/healthz` and `/readyz`. They have no rate limit, because the probes of a gateway come from one address.
 * @param options.health called for each `/readyz`
 * @param options.errorTypeBase base address of error type URIs
 */
export function answerProbes(options: { health: Health; errorTypeBase: string }): Middleware {
  return answerPaths({
    '/healthz': (ctx) => send(ctx, JSON.stringify({ status: 'ok' })),
    '/readyz': (ctx) => answerReadiness(ctx, options.health, options.errorTypeBase),
  });
}

/**
 * Answers `/openapi.json` with the document, `/llms.txt` with the text, and `/robots.txt` (RFC 9309); there is no icon.
 * @param options.openapi makes the document, once it is asked for
 * @param options.before comes before each of these answers
 */
export function answerDocuments({
  openapi,
  llmsText,
  before,
}: {
  openapi: () => Promise<object>;
  llmsText: string;
  before: Middleware;
}): Middleware {
  let document: Promise<Document> | undefined;
  const makeDocument = async () => createDocument(JSON.stringify(await openapi()));
  const text = createDocument(llmsText);
  const robots = createDocument(ROBOTS);
  const answers: Answers = {
    '/openapi.json': async (ctx) => {
      document ??= makeDocument();
      await sendPublic(ctx, await document);
    },
    '/llms.txt': (ctx) => sendPublic(ctx, text, 'text/plain; charset=utf-8'),
    '/robots.txt': (ctx) => sendPublic(ctx, robots, 'text/plain; charset=utf-8'),
    '/favicon.ico': (ctx) => {
      ctx.res.setHeader('cache-control', 'public, max-age=86400');
      ctx.status = 204;
    },
  };
  return answerPaths(answers, before);
}

/** What is to be read is for crawlers too, and nothing else. */
const ROBOTS = `User-agent: *
Allow: /docs
Allow: /t/*/docs
Allow: /llms.txt
Allow: /openapi.json
Disallow: /
`;

type Answers = Readonly<Record<string, (ctx: Context) => void | Promise<void>>>;

function answerPaths(answers: Answers, before: Middleware = (_ctx, next) => next()): Middleware {
  const paths = new Map(Object.entries(answers));
  return (ctx, next) => {
    const answer = paths.get(ctx.state.path);
    if (answer === undefined) return next();
    if (ctx.method !== 'GET' && ctx.method !== 'HEAD')
      throw new ServiceError('method_not_allowed', { headers: { allow: 'GET, HEAD' } });
    ctx.state.operation = ctx.state.path;
    return before(ctx, () => Promise.resolve(answer(ctx)));
  };
}

/** 200 with the states of the parts, or 503 as a problem with the states as further members (RFC 7807 §3.2). */
async function answerReadiness(ctx: Context, health: Health, errorTypeBase: string): Promise<void> {
  const { ready, draining, database, temporal } = await health.ready();
  if (ready) return send(ctx, JSON.stringify({ status: 'ready', database, temporal }));
  const error = tryAgain(
    draining ? 'This process is shutting down.' : `The database is not usable: ${database}.`,
  );
  const problem = toProblem(error, { errorTypeBase, requestId: ctx.state.requestId });
  ctx.res.setHeader('retry-after', '1');
  send(ctx, JSON.stringify({ ...problem.body, database, temporal }), 'application/problem+json');
  ctx.status = problem.status;
}

/** Sends a document that scripts of any origin may read. */
function sendPublic(ctx: Context, document: Document, type = 'application/json'): Promise<void> {
  ctx.res.setHeader('cache-control', 'public, max-age=300');
  setAnyOrigin(ctx.res);
  return sendDocument(ctx, document, type);
}

function send(ctx: Context, body: string | Buffer, type = 'application/json'): void {
  ctx.res.setHeader('content-type', type);
  ctx.status = 200;
  ctx.body = body;
}
