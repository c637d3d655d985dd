// Reads the raw body of a request of Node's HTTP server, which Koa and Express pass on. It uses only the shape of
// Node's types, without an import.

import { isBytes, joinBytes } from './bytes.ts';
import type { ReceivedRequest } from './receive.ts';
import { BodyTooLarge, RawBodyMissing } from './receiver-errors.ts';

/** The part of an IncomingMessage that is needed. `body` is where Express's parsers put their result. */
export type NodeRequest = {
  readonly method?: string | undefined;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly httpVersionMajor: number;
  readonly readableDidRead: boolean;
  readonly destroyed: boolean;
  readonly body?: unknown;
  on(event: 'data', listener: (chunk: Uint8Array) => void): unknown;
  on(event: 'end' | 'close', listener: () => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
  off(event: 'data', listener: (chunk: Uint8Array) => void): unknown;
};

/** The request for the core. A raw body that `express.raw()` has left as bytes is taken as it is. */
export function fromNodeRequest(request: NodeRequest): ReceivedRequest {
  return {
    method: request.method ?? '',
    headers: request.headers,
    body: (maxBytes) => readBytes(request, maxBytes),
  };
}

/**
 * Headers for an answer that leaves some of the body unread: the connection cannot be used again. HTTP/2 has no such
 * header.
 */
export function connectionHeaders({ httpVersionMajor }: NodeRequest, status: number): Record<string, string> {
  return status === 413 && httpVersionMajor < 2 ? { connection: 'close' } : {};
}

async function readBytes(request: NodeRequest, maxBytes: number): Promise<Uint8Array> {
  if (request.readableDidRead) {
    if (isBytes(request.body)) return request.body;
    throw new RawBodyMissing();
  }
  // Its events were emitted already, so no further one would come.
  if (request.destroyed) throw new Error('the request ended early');
  if (Number(request.headers['content-length']) > maxBytes) throw new BodyTooLarge();
  return collect(request, maxBytes);
}

/** Reads by events: an iterator that is left early would destroy the socket before the answer is sent. */
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
