// The adapter for Express and for Node's HTTP server.

import { type NodeRequest, receiveNodeRequest } from './node-request.ts';
import { checkOptions, type ReceiverOptions } from './receive.ts';
import { printError } from './receiver-errors.ts';

type NodeResponse = {
  writeHead(status: number, headers: Record<string, string>): unknown;
  end(body: string): unknown;
};

/**
 * Creates a handler for Express (4 and 5), or a listener for Node's HTTP server. Mount it before every body parser,
 * because a parsed body has lost the signed bytes. Only `express.raw()`, or a parser that keeps the bytes in `rawBody`,
 * may be mounted before it.
 * @returns a handler; an error of the program (a parsed body, no secret) is passed to `next`, or without `next`
 *   answered with 500 and reported to `onError`
 * @throws {TypeError} when there is no secret
 */
export function createExpressReceiver(
  options: ReceiverOptions,
): (request: NodeRequest, response: NodeResponse, next?: (error: unknown) => void) => Promise<void> {
  checkOptions(options);
  return async (request, response, next) => {
    try {
      const { status, headers, body } = await receiveNodeRequest(request, options);
      response.writeHead(status, headers);
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
