// The adapter for handlers from Request to Response: workers, Deno, Bun, Hono, route handlers of web frameworks.

import { joinBytes } from './bytes.ts';
import { checkOptions, type ReceiverOptions, receive } from './receive.ts';
import { BodyTooLarge, RawBodyMissing } from './receiver-errors.ts';

/**
 * @returns a handler; it rejects with RawBodyMissing when other code has read the request's body
 * @throws {TypeError} when there is no secret
 */
export function createFetchReceiver(options: ReceiverOptions): (request: Request) => Promise<Response> {
  checkOptions(options);
  return async (request) => {
    const { method, headers } = request;
    const body = (maxBytes: number) => readRequest(request, maxBytes);
    const answer = await receive({ method, headers, body }, options);
    return new Response(answer.body, { status: answer.status, headers: answer.headers });
  };
}

async function readRequest(request: Request, maxBytes: number): Promise<Uint8Array> {
  if (request.bodyUsed) throw new RawBodyMissing();
  if (Number(request.headers.get('content-length')) > maxBytes) throw new BodyTooLarge();
  // Some browsers have no stream of a request's body, so the whole body is read.
  if (!request.body) return new Uint8Array(await request.arrayBuffer());
  const reader = request.body.getReader();
  const chunks: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return joinBytes(chunks, length);
    chunks.push(value);
    length += value.length;
    if (length > maxBytes) {
      await reader.cancel().catch(() => undefined);
      throw new BodyTooLarge();
    }
  }
}
