// The adapter for Koa. It does not import Koa.

import { type NodeRequest, receiveNodeRequest } from './node-request.ts';
import { checkOptions, type ReceiverOptions } from './receive.ts';

type KoaContext = {
  readonly req: NodeRequest;
  status: number;
  body: unknown;
  set(headers: Record<string, string>): unknown;
};

/**
 * Creates a Koa middleware. Mount it on the receiver's path, before every body parser.
 * @returns a middleware; it throws RawBodyMissing when a body parser has read the request, and Koa answers with 500
 * @throws {TypeError} when there is no secret
 */
export function createKoaReceiver(options: ReceiverOptions): (context: KoaContext) => Promise<void> {
  checkOptions(options);
  return async (context) => {
    const { status, headers, body } = await receiveNodeRequest(context.req, options);
    context.status = status;
    context.set(headers);
    context.body = body;
  };
}
