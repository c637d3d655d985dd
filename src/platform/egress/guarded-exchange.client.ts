// Sends one request through the guarded dispatcher and reads its answer, with limits on the time, the bytes read and
// the bytes kept.

import { setMaxListeners } from 'node:events';
import type { Socket } from 'node:net';
import type { Dispatcher } from 'undici';
import type { TracedDispatchOptions } from './guarded-agent.client.ts';
import {
  abandonConnection,
  type ConnectionTrace,
  EgressError,
  errorCode,
} from './guarded-connection.client.ts';

/** The failure of an exchange whose time ended before an answer began. */
export const TIMED_OUT = Symbol('timed out');

/**
 * The part of an answer that was read. `headers`: by lower-case name, a list for a repeated header. `excerpt`: the
 * beginning of the body. `retryAfter`: undefined without the header, and when it occurs with different values.
 */
export type Answer = {
  statusCode: number;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  retryAfter: string | undefined;
  excerpt: Buffer;
};

/**
 * The end of an exchange: the answer, or `failure` ({@link TIMED_OUT}, an `EgressError` or an error of undici).
 * `firstByteMs`: milliseconds from the sending of the request to the first byte of the answer, or null.
 */
export type Exchange = { answer?: Answer | undefined; failure?: unknown; firstByteMs: number | null };

/** The limits of an exchange: the time, the bytes of the body that are read, and the bytes that are kept. */
type ExchangeLimits = {
  timeoutMs: number;
  maxBodyBytes: number;
  excerptBytes: number;
  signal?: AbortSignal | undefined;
};

/**
 * The most informational answers (1xx) of an exchange: each is parsed, and a receiver can send them at the speed of the
 * network.
 */
export const MAX_INFORMATIONAL = 32;

/**
 * The most bytes of an exchange, because an answer can also be endless by its reason phrase or by the framing of its
 * chunks.
 */
export const MAX_WIRE_BYTES = 1024 * 1024;

export type TracedRequest = TracedDispatchOptions & { trace: ConnectionTrace };

// Errors of undici that are faults of this service: wrong use, or a dispatcher that this service has closed.
const OWN_FAULTS = new Set([
  'UND_ERR_INVALID_ARG',
  'UND_ERR_NOT_SUPPORTED',
  'UND_ERR_DESTROYED',
  'UND_ERR_CLOSED',
]);

// Errors of a connection that the other side has ended.
const ENDED = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'ECONNABORTED', 'EPIPE']);

/**
 * Sends a request, and waits for the end of the answer, the limit of its body or the deadline, whichever comes first.
 * From the status line on an answer counts: a later failure only ends the reading. The connection is reused only when
 * the answer was read to its end. A request whose reused connection ends before an answer is sent once more.
 * @throws the signal's reason when it is aborted, and undici's error for a fault of this service
 */
export function exchange(
  dispatcher: Dispatcher,
  request: TracedRequest,
  { timeoutMs, maxBodyBytes, excerptBytes, signal }: ExchangeLimits,
): Promise<Exchange> {
  return new Promise((resolve, reject) => {
    let controller: Dispatcher.DispatchController | undefined;
    let answer: Answer | undefined;
    let settled = false;
    let sentAt = 0;
    let firstByteMs: number | null = null;
    let informational = 0;
    let received = 0;
    let kept = 0;
    let room = Buffer.alloc(0);
    let stopCounting = () => {};

    const settle = (end: () => void) => {
      if (settled) return;
      settled = true;
      clearTimeout(deadline);
      signal?.removeEventListener('abort', onAbort);
      stopCounting();
      end();
      abandonConnection(request.trace);
      controller?.abort(new Error('the exchange is over'));
    };
    const finish = (failure?: unknown) =>
      settle(() => {
        if (answer !== undefined) answer.excerpt = room.subarray(0, kept);
        resolve({ answer, failure, firstByteMs });
      });
    const onAbort = () => settle(() => reject(signal?.reason));
    const deadline = setTimeout(finish, timeoutMs, TIMED_OUT);
    if (signal !== undefined) listen(signal, onAbort);

    dispatchReliably(dispatcher, request, {
      onRequestStart(started) {
        controller = started;
        sentAt = performance.now();
        stopCounting();
        stopCounting = countBytes(request.trace.socket, () =>
          finish(new EgressError('response', 'ANSWER_TOO_LONG')),
        );
        if (settled) started.abort(new Error('the exchange is over'));
      },
      onResponseStarted() {
        firstByteMs = performance.now() - sentAt;
      },
      onResponseStart(_controller, statusCode, headers) {
        if (statusCode < 200) {
          informational += 1;
          if (informational > MAX_INFORMATIONAL)
            finish(new EgressError('response', 'TOO_MANY_INFORMATIONAL'));
          return;
        }
        firstByteMs ??= performance.now() - sentAt;
        answer = {
          statusCode,
          headers,
          retryAfter: agreedValue(headers['retry-after']),
          excerpt: room,
        };
      },
      onResponseData(_controller, chunk) {
        if (answer === undefined) return;
        // One buffer for all chunks, because a body can arrive in as many chunks as it has bytes.
        if (received === 0) room = Buffer.alloc(excerptBytes);
        kept += chunk.copy(room, kept);
        received += chunk.length;
        if (received >= maxBodyBytes) finish();
      },
      onResponseEnd() {
        controller = undefined;
        finish();
      },
      onResponseError(_controller, error) {
        controller = undefined;
        if (OWN_FAULTS.has(errorCode(error))) settle(() => reject(error));
        else finish(error);
      },
    });
  });
}

/**
 * Dispatches a request, and once more on a new connection when its reused one ends before the first byte of an answer:
 * a server may close an idle connection while the request is on its way.
 * @see RFC 9112 §9.3.1
 */
function dispatchReliably(
  dispatcher: Dispatcher,
  request: TracedRequest,
  handler: Dispatcher.DispatchHandler,
): void {
  const { trace } = request;
  let readBefore: number | undefined;
  dispatcher.dispatch(request, {
    ...handler,
    onRequestStart(controller, context) {
      const isReused = trace.connectMs === null;
      readBefore = isReused ? trace.socket?.bytesRead : undefined;
      handler.onRequestStart?.(controller, context);
    },
    onResponseError(controller, error) {
      const isUnanswered = readBefore !== undefined && readBefore === trace.socket?.bytesRead;
      if (!isUnanswered || !ENDED.has(errorCode(error))) return handler.onResponseError?.(controller, error);
      const once: TracedRequest = { ...request, isFresh: true };
      dispatcher.dispatch(once, handler);
    },
  });
}

/** The value of a header. An application and the proxy before it can both send it, and may differ. */
function agreedValue(header: string | string[] | undefined): string | undefined {
  if (!Array.isArray(header)) return header;
  return header.every((value) => value === header[0]) ? header[0] : undefined;
}

const BROKEN_ANSWERS = new Set(['bad response', 'bad upgrade']);

/**
 * The code of an error that came instead of an answer. undici reports an unexpected answer with the code of a lost
 * connection, and one that its parser refuses without a code. Only the message distinguishes them; the parser's own
 * words in it, which have nothing of the answer, become the code.
 */
export function answerErrorCode(error: unknown): string {
  if (!(error instanceof Error)) return errorCode(error);
  if (BROKEN_ANSWERS.has(error.message)) return 'BAD_RESPONSE';
  if (error.name !== 'HTTPParserError') return errorCode(error);
  const words = error.message.slice(error.message.indexOf('(') + 1).match(/\w+/g) ?? [];
  return words.join('_').toUpperCase();
}

// Undici listens for the same event and was registered first, so it has already read when this listener runs.
function countBytes(socket: Socket | null, onTooMany: () => void): () => void {
  const before = socket?.bytesRead ?? 0;
  const count = () => {
    if (socket !== null && socket.bytesRead - before > MAX_WIRE_BYTES) onTooMany();
  };
  socket?.on('readable', count);
  return () => void socket?.off('readable', count);
}

// All exchanges under way share one shutdown signal. Without this, Node would warn of a leak at the eleventh listener.
function listen(signal: AbortSignal, onAbort: () => void): void {
  setMaxListeners(0, signal);
  signal.addEventListener('abort', onAbort);
}
