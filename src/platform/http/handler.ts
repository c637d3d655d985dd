// Runs a route's handler, and sends its result after all work, including the commit, has succeeded.

import type { AnswerKey } from '../answer-key.ts';
import type { RequestContext } from '../context.ts';
import { createCursors } from '../database/page.ts';
import { ServiceError, tryAgain } from '../errors/service-error.ts';
import { type Room, roomOwnerOf } from '../room.ts';
import { matchesEtag, tagOf } from './etag.ts';
import { sendEventStream } from './event-stream.ts';
import { callAtEnd, type MakeHold } from './hold.ts';
import { setHeaders } from './rate-limit-headers.ts';
import { NOTHING, textOf } from './request-body.ts';
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
export function runHandler(
  route: Route,
  contract: Contract | undefined,
  makeHold?: MakeHold | undefined,
): Perform {
  return runChecked(route, route.handler, contract, unanswered, makeHold);
}

/** Calls the handler for requests with an idempotency key, where the route has one. */
export function runKeyedHandler(route: Route, contract: Contract | undefined): PerformKeyed | undefined {
  return route.keyedHandler && runChecked(route, route.keyedHandler, contract, () => undefined);
}

/** @param withoutResult called when the handler has none */
function runChecked<None extends undefined>(
  route: Route,
  handler: (input: never) => Promise<HandlerResult | undefined> | HandlerResult,
  contract: Contract | undefined,
  withoutResult: () => None,
  makeHold?: MakeHold | undefined,
) {
  const turning = turnPages(route);
  return async (ctx: Context, context: RequestContext, answer?: AnswerKey): Promise<HandlerResult | None> => {
    const { params, query, body, bytes = NOTHING } = ctx.state.input ?? {};
    const header = (name: string) => joined(ctx.req.headers[name]);
    try {
      // The types are safe: the guard has validated these values with the schemas from which the handler's type is
      // derived.
      const result = turning.result(
        await handler({
          context,
          answer,
          params,
          query: turning.query(query),
          body,
          bodyText: () => textOf(bytes),
          header,
          headerValues: (name: string) => headerValues(ctx, name),
          hold: makeHold?.(ctx, context),
        } as never),
      );
      if (result !== undefined && result.stream === undefined) contract?.checkResult(result);
      return result ?? withoutResult();
    } catch (error) {
      throw contract === undefined ? error : contract.checkError(error);
    }
  };
}

/** Handlers of lists see ids, and clients cursors. Clients of other routes see what their handlers give. */
function turnPages({ path }: Route) {
  const cursors = createCursors(path);
  return {
    /** @throws ServiceError `invalid_request` for a cursor of another list */
    query: (query: unknown) => (isPaged(query) ? { ...query, cursor: cursors.decode(query.cursor) } : query),
    result: (result: HandlerResult | undefined) => {
      if (result?.nextCursor === undefined) return result;
      const { nextCursor, body, ...rest } = result;
      const next_cursor = nextCursor === null ? null : cursors.encode(nextCursor);
      return { ...rest, body: { ...(body as object), next_cursor } };
    },
  };
}

function isPaged(query: unknown): query is { readonly cursor: string } {
  return typeof query === 'object' && query !== null && 'cursor' in query && typeof query.cursor === 'string';
}

function unanswered(): never {
  throw new ServiceError('server_error', { cause: new Error('A handler without a result') });
}

/** Sends the result of `perform`, where there is room for it. @throws ServiceError `temporarily_unavailable` */
export function respond(route: Route, perform: Perform, room: Room): Middleware {
  return async (ctx) => {
    if (!isOfWork(route) && room.fullFor(roomOwnerOf(contextOf(ctx)))) throw noRoom();
    const { body, stream, ...result } = await perform(ctx, contextOf(ctx));
    if (stream !== undefined) {
      await sendEventStream(ctx, stream, (bytes) => takeFor(ctx, route, bytes, room));
      return;
    }
    const content = body === undefined ? undefined : contentOf(body);
    if (content !== undefined) takeRoom(ctx, route, content, room);
    sendResult(ctx, route, result, content);
  };
}

/** The answer is of work that was done, and is given in any case. */
const isOfWork = ({ method }: Route): boolean => method !== 'GET';

function takeFor(ctx: Context, route: Route, bytes: number, room: Room): (() => void) | undefined {
  const owner = roomOwnerOf(contextOf(ctx));
  return isOfWork(route) ? room.hold(owner, bytes) : room.take(owner, bytes);
}

function takeRoom(ctx: Context, route: Route, content: string | Buffer, room: Room): void {
  const giveBack = takeFor(ctx, route, Buffer.byteLength(content), room);
  if (giveBack === undefined) throw noRoom();
  callAtEnd(ctx, giveBack);
}

const noRoom = () => tryAgain('Too many bytes of earlier answers have not been taken yet.');

function sendResult(
  ctx: Context,
  route: Route,
  { status, headers }: Omit<HandlerResult, 'body'>,
  content: string | Buffer | undefined,
): void {
  const { res } = ctx;
  if (headers !== undefined) setHeaders(res, headers);
  if (content === undefined) {
    // Without a body Koa would change the status to 204.
    ctx.body = null;
    ctx.status = status;
    return;
  }
  ctx.status = status;
  if (!res.hasHeader('content-type'))
    res.setHeader('content-type', route.responses[status]?.contentType ?? 'application/json');
  ctx.body = content;
  // RFC 9110 §13: a client that already has this version gets 304. Who asks for none is spared the digest.
  const known = ctx.req.headers['if-none-match'];
  if (status !== 200 || route.method !== 'GET' || known === undefined) return;
  const etag = String(res.getHeader('etag') ?? tagOf([content]));
  res.setHeader('etag', etag);
  if (matchesEtag(known, etag)) ctx.status = 304;
}

function contentOf(body: unknown): string | Buffer {
  if (typeof body === 'string') return body;
  if (!(body instanceof Uint8Array)) return serialize(body);
  return Buffer.from(body.buffer, body.byteOffset, body.byteLength);
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
