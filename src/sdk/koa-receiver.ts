// The adapter for Koa. It uses only the shape of Koa's objects and does not import Koa.

import { connectionHeaders, fromNodeRequest, type NodeRequest } from './node-request.ts';
import { checkOptions, type ReceiverOptions, receive } from './receive.ts';

/** The part of Koa's context that is needed. */
type KoaContext = {
  readonly req: NodeRequest;
  status: number;
  body: unknown;
  set(headers: Record<string, string>): unknown;
};

/**
 * Creates a middleware of Koa, to be mounted on the receiver's path and before every body parser.
 * @returns a middleware; it throws RawBodyMissing when a body parser has read the request, which Koa answers with 500
 *   and reports
 * @throws {TypeError} when there is no secret
 */
export function createKoaReceiver(options: ReceiverOptions): (context: KoaContext) => Promise<void> {
  checkOptions(options);
  return async (context) => {
    const { status, headers, body } = await receive(fromNodeRequest(context.req), options);
    context.status = status;
    context.set({ ...headers, ...connectionHeaders(context.req, status) });
    context.body = body;
  };
}
