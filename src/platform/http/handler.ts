// Runs a route's handler, and sends its result after all work, including the commit, has succeeded.

import type { AnswerKey } from '../answer-key.ts';
import type { RequestContext } from '../context.ts';
import { ServiceError } from '../errors/service-error.ts';
import { matchesEtag } from './etag.ts';
import { setHeaders } from './rate-limit-headers.ts';
import { type Context, contextOf, headerValues, type Middleware } from './request-state.ts';
import type { HandlerResult, Route } from './route.ts';

export type Perform = (ctx: Context, context: RequestContext) => Promise<HandlerResult>;

export type Contract = {
  checkResult(result: HandlerResult): void;
  checkError(error: unknown): unknown;
};

/** Does the work of a request and stores its answer in one statement; undefined when nothing was done. */
export type PerformKeyed = (
  ctx: Context,
  context: RequestContext,
  answer: AnswerKey,
) => Promise<HandlerResult | undefined>;

/** Calls the handler with the validated input. */
export function runHandler(route: Route, contract: Contract | undefined): Perform {
  const run = runChecked(route.handler, contract);
  return async (ctx, context) => (await run(ctx, context)) ?? unanswered();
}

/** Calls the handler for requests with an idempotency key, where the route has one. */
export function runKeyedHandler(route: Route, contract: Contract | undefined): PerformKeyed | undefined {
  return route.keyedHandler && runChecked(route.keyedHandler, contract);
}

function runChecked(
  handler: (input: never) => Promise<HandlerResult | undefined> | HandlerResult,
  contract: Contract | undefined,
) {
  return async (
    ctx: Context,
    context: RequestContext,
    answer?: AnswerKey,
  ): Promise<HandlerResult | undefined> => {
    const { params, query, body, text = '' } = ctx.state.input ?? {};
    const header = (name: string) => joined(ctx.req.headers[name]);
    try {
      // The types are safe: the guard has validated these values with the schemas from which the handler's type is
      // derived.
      const result = await handler({
        context,
        answer,
        params,
        query,
        body,
        bodyText: text,
        header,
        headerValues: (name: string) => headerValues(ctx, name),
      } as never);
      if (result !== undefined) contract?.checkResult(result);
      return result;
    } catch (error) {
      throw contract === undefined ? error : contract.checkError(error);
    }
  };
}

function unanswered(): never {
  throw new ServiceError('server_error', { cause: new Error('A handler without a result') });
}

/** Sends the result of `perform`. */
export function respond(route: Route, perform: Perform): Middleware {
  return async (ctx) => sendResult(ctx, route, await perform(ctx, contextOf(ctx)));
}

function sendResult(ctx: Context, route: Route, { status, body, headers }: HandlerResult): void {
  const { res } = ctx;
  if (headers !== undefined) setHeaders(res, headers);
  if (body === undefined) {
    // Without a body Koa would change the status to 204.
    ctx.body = null;
    ctx.status = status;
    return;
  }
  ctx.status = status;
  if (!res.hasHeader('content-type'))
    res.setHeader('content-type', route.responses[status]?.contentType ?? 'application/json');
  ctx.body = typeof body === 'string' || body instanceof Uint8Array ? asBody(body) : serialize(body);
  // RFC 9110 §13: a client that already has this version gets 304.
  const etag = res.getHeader('etag');
  if (status === 200 && typeof etag === 'string' && matchesEtag(ctx.req.headers['if-none-match'], etag))
    ctx.status = 304;
}

function asBody(body: string | Uint8Array): string | Buffer {
  return typeof body === 'string' ? body : Buffer.from(body.buffer, body.byteOffset, body.byteLength);
}

function serialize(body: unknown): string {
  const text = JSON.stringify(body) as string | undefined;
  if (text === undefined)
    throw new ServiceError('server_error', { cause: new Error('A body that is not JSON') });
  return text;
}

function joined(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(', ') : value;
}
