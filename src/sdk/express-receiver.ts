// The adapter for Express, which is also one for Node's bare HTTP server.

import { connectionHeaders, fromNodeRequest, type NodeRequest } from './node-request.ts';
import { checkOptions, type ReceiverOptions, receive } from './receive.ts';
import { printError } from './receiver-errors.ts';

/** The part of a ServerResponse that is needed. */
type NodeResponse = {
  writeHead(status: number, headers: Record<string, string>): unknown;
  end(body: string): unknown;
};

/**
 * Creates a handler of Express (4 and 5), or a listener of Node's HTTP server. Mount it before every body parser: one
 * that has turned the body into an object has lost the bytes that are signed. `express.raw()` keeps them and may come
 * before it.
 * @returns a handler. A mistake in the program (a parsed body, no secret) goes to `next`; without `next` it is answered
 *   with 500 and reported to `onError`
 * @throws {TypeError} when there is no secret
 */
export function createExpressReceiver(
  options: ReceiverOptions,
): (request: NodeRequest, response: NodeResponse, next?: (error: unknown) => void) => Promise<void> {
  checkOptions(options);
  return async (request, response, next) => {
    try {
      const { status, headers, body } = await receive(fromNodeRequest(request), options);
      response.writeHead(status, { ...headers, ...connectionHeaders(request, status) });
      response.end(body);
    } catch (error) {
      if (next !== undefined) {
        next(error);
        return;
      }
      (options.onError ?? printError)(error);
      response.writeHead(500, { 'content-type': 'application/json' });
      response.end('{"error":"failed"}');
    }
  };
}
