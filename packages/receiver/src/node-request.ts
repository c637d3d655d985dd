// Reads the raw body of a request of Node's HTTP server, which Koa and Express pass on. It imports no Node types.

import { isBytes, joinBytes } from './bytes.ts';
import { type ReceiverAnswer, type ReceiverOptions, receive } from './receive.ts';
import { BodyTooLarge, RawBodyMissing } from './receiver-errors.ts';

/** The used part of an IncomingMessage. Body parsers store their result in `body`, and some the bytes in `rawBody`. */
export type NodeRequest = {
  readonly method?: string | undefined;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly httpVersionMajor: number;
  readonly readableDidRead: boolean;
  readonly destroyed: boolean;
  readonly body?: unknown;
  readonly rawBody?: unknown;
  on(event: 'data', listener: (chunk: Uint8Array) => void): unknown;
  on(event: 'end' | 'close', listener: () => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
  off(event: 'data', listener: (chunk: Uint8Array) => void): unknown;
};

/**
 * Receives a request of Node. Bytes in `rawBody`, or from `express.raw()`, are used as the raw body. The answer closes
 * the connection when it leaves some of a body that is too large unread; HTTP/2 has no such header.
 */
export async function receiveNodeRequest(
  request: NodeRequest,
  options: ReceiverOptions,
): Promise<ReceiverAnswer> {
  let isLeft = false;
  const body = async (maxBytes: number) => {
    try {
      return await readBytes(request, maxBytes);
    } catch (error) {
      isLeft = error instanceof BodyTooLarge && request.httpVersionMajor < 2;
      throw error;
    }
  };
  const { method = '', headers } = request;
  const answer = await receive({ method, headers, body }, options);
  return isLeft ? { ...answer, headers: { ...answer.headers, connection: 'close' } } : answer;
}

async function readBytes(request: NodeRequest, maxBytes: number): Promise<Uint8Array> {
  if (isBytes(request.rawBody)) return request.rawBody;
  if (request.readableDidRead) {
    if (isBytes(request.body)) return request.body;
    throw new RawBodyMissing();
  }
  // The events of a destroyed request were already emitted, so waiting for them would never end.
  if (request.destroyed) throw new Error('the request ended early');
  if (Number(request.headers['content-length']) > maxBytes) throw new BodyTooLarge();
  return collect(request, maxBytes);
}

/** Reads by events, because leaving an iterator early would destroy the socket before the answer is sent. */
function collect(request: NodeRequest, maxBytes: number): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const chunks: Uint8Array[] = [];
    let length = 0;
    const take = (chunk: Uint8Array) => {
      length += chunk.length;
      if (length <= maxBytes) {
        chunks.push(chunk);
        return;
      }
      // Without a listener the stream continues, and its further data is dropped.
      request.off('data', take);
      reject(new BodyTooLarge());
    };
    request.on('data', take);
    request.on('end', () => resolve(joinBytes(chunks, length)));
    request.on('error', reject);
    request.on('close', () => reject(new Error('the request ended early')));
  });
}
