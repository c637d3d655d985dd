// Reads a request's body as bytes. Bytes beyond the limit, and those of a refused request, are discarded.
import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { invalidField, ServiceError } from '../errors/service-error.ts';

/** Milliseconds between two pieces (64 KiB at most) of a body that is discarded. */
const PAUSE = 20;

/** No body. */
export const NOTHING: Buffer = Buffer.alloc(0);

/**
 * Makes the text of a body. Bytes are kept outside of the heap, where a text would take up to two bytes a character.
 * @throws ServiceError `invalid_request` when the body is not UTF-8
 */
export function textOf(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw invalidField('body', 'is not UTF-8');
  const text = bytes.toString('utf8');
  return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
}

/** True when the request announces a body (RFC 9112 §6.3). */
export function hasBody({ headers }: IncomingMessage): boolean {
  const length = headers['content-length'];
  return headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0');
}

/** The bytes of the body that the request announces; undefined where it does not say how many come. */
export function announcedBytes({ headers }: IncomingMessage): number | undefined {
  return headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : undefined;
}

/**
 * @param longest bytes
 * @returns the body; nothing without one
 * @throws ServiceError `payload_too_large`, or `invalid_request` when the body ends early
 */
export async function readBytes(request: IncomingMessage, longest: number): Promise<Buffer> {
  if (!hasBody(request)) return NOTHING;
  if ((announcedBytes(request) ?? 0) > longest) {
    discard(request);
    throw tooLarge(longest);
  }
  // After the end of a connection nothing more would be told.
  if (request.destroyed) throw endedEarly();
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const onData = (chunk: Buffer) => {
      length += chunk.length;
      if (length <= longest) chunks.push(chunk);
      else end(() => reject(tooLarge(longest)));
    };
    const onEnd = () => {
      const [first] = chunks;
      end(() => resolve(chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks, length)));
    };
    const onBroken = () => end(() => reject(endedEarly()));
    const end = (settle: () => void) => {
      request.off('data', onData).off('end', onEnd).off('error', onBroken).off('close', onBroken);
      discard(request);
      settle();
    };
    request.on('data', onData).on('end', onEnd).on('error', onBroken).on('close', onBroken);
  });
}

/**
 * Reads the rest of a body, because Node reuses a connection only after its end; slowly, because the bytes of a flood
 * hold up the event loop.
 */
export function discard(request: IncomingMessage): void {
  if (request.listenerCount('data') > 0) return;
  if (!request.complete)
    request.on('data', () => {
      request.pause();
      setTimeout(() => request.resume(), PAUSE).unref();
    });
  // A closing socket may still emit an error.
  request.on('error', () => undefined).resume();
}

const endedEarly = () => new ServiceError('invalid_request', { detail: 'The body ended early.' });

function tooLarge(longest: number): ServiceError {
  return new ServiceError('payload_too_large', { detail: `The body is larger than ${longest} bytes.` });
}
