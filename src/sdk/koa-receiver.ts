// The adapter for Koa. It knows Koa by its shape only and imports nothing of it.

import { connectionHeaders, fromNodeRequest, type NodeRequest } from './node-request.ts';
import { checkOptions, type ReceiverOptions, receive } from './receive.ts';

/** What is needed of Koa's context. */
type KoaContext = {
  readonly req: NodeRequest;
  status: number;
  body: unknown;
  set(headers: Record<string, string>): unknown;
};

/**
 * Creates a middleware of Koa, to be mounted on the receiver's path and before every body parser.
 *
 * @returns a middleware; it throws RawBodyMissing when a body parser has read the request, which Koa answers with 500 and reports
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
