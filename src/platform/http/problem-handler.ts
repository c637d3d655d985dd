// Turns every thrown value into a problem answer, and logs its cause, which is in no answer.
import Negotiator from 'negotiator';
import type { Logger } from 'pino';
import { translateDatabaseError } from '../database/errors.ts';
import { toProblem } from '../errors/problem.ts';
import { ServiceError } from '../errors/service-error.ts';
import { setHeaders } from './rate-limit-headers.ts';
import { discard } from './request-body.ts';
import type { Context, Middleware } from './request-state.ts';

const PROBLEM = 'application/problem+json';
const JSON_TYPE = 'application/json';
const PROBLEM_FIRST = [PROBLEM, JSON_TYPE];
const JSON_FIRST = [JSON_TYPE, PROBLEM];

/**
 * Chooses by `Accept` (RFC 9110 §12.5.1). The default is `application/problem+json`, and `application/json` below
 * `/oauth/` (RFC 6749 §5.2). A caller that accepts neither type receives the default, because an error is never
 * answered with 406.
 */
export function chooseProblemType(accept: string | undefined, path: string): string {
  const available = path.startsWith('/oauth/') ? JSON_FIRST : PROBLEM_FIRST;
  const preferred = available[0] ?? PROBLEM;
  if (accept === undefined || accept === '' || accept === '*/*') return preferred;
  return new Negotiator({ headers: { accept } }).mediaType([...available]) ?? preferred;
}

/** The page of a tenant that says of each error code what to do; the code is the anchor. */
export const ERRORS_PAGE = '/docs/errors';

type AnswerProblemsOptions = { errorTypeBase: string; logger: Logger };

/**
 * @param options.errorTypeBase base address of error type URIs
 * @param options.logger receives every failure of this service, with its cause
 */
export function answerProblems({ errorTypeBase, logger }: AnswerProblemsOptions): Middleware {
  return async (ctx, next) => {
    try {
      await next();
    } catch (thrown) {
      const error = asServiceError(thrown);
      const { requestId } = ctx.state;
      const { status, headers, body } = toProblem(error, { errorTypeBase, requestId });
      report(logger, ctx, error, status);
      const { res } = ctx;
      setHeaders(res, headers);
      const { context } = ctx.state;
      if (context !== undefined)
        res.setHeader('link', `<${context.tenant.baseUrl}${ERRORS_PAGE}#${error.code}>; rel="help"`);
      // A client that may try again gets a Retry-After even if the error has none (RFC 9110 §10.2.3).
      if ((status === 429 || status === 503) && headers['retry-after'] === undefined)
        res.setHeader('retry-after', '1');
      res.setHeader('content-type', chooseProblemType(ctx.req.headers.accept, ctx.state.path));
      res.setHeader('vary', 'accept');
      ctx.status = status;
      ctx.body = JSON.stringify(body);
      discard(ctx.req);
    }
  };
}

/**
 * Returns a ServiceError unchanged, 503 for a database that is down, and otherwise `server_error` with the thrown value
 * as its cause.
 */
function asServiceError(thrown: unknown): ServiceError {
  const error = translateDatabaseError(thrown);
  return error instanceof ServiceError ? error : new ServiceError('server_error', { cause: error });
}

function report(logger: Logger, ctx: Context, error: ServiceError, status: number): void {
  const fields = { request_id: ctx.state.requestId, operation: ctx.state.operation, error: error.code };
  if (status >= 500)
    logger.error({ event: 'http.request_failed', ...fields, err: error.cause ?? error }, 'request failed');
  else if (error.cause !== undefined)
    logger.debug({ event: 'http.request_refused', ...fields, err: error.cause }, 'request refused');
}
