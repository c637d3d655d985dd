// Answers requests that do not reach the application: those that Node's HTTP parser refuses (400, 408, 413, 431), and
// CONNECT (405). The answers are problems with a request id.
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import type { ErrorCode } from '../errors/catalogue.ts';
import { toProblem } from '../errors/problem.ts';
import { ServiceError } from '../errors/service-error.ts';
import { requestIdOf } from './request-id.ts';

type ParserError = Error & { code?: string; rawPacket?: Buffer };

const CODES: Readonly<Record<string, { code: ErrorCode; detail: string }>> = {
  HPE_HEADER_OVERFLOW: { code: 'header_fields_too_large', detail: 'The header fields are too large.' },
  HPE_CHUNK_EXTENSIONS_OVERFLOW: { code: 'payload_too_large', detail: 'The chunk extensions are too large.' },
  ERR_HTTP_REQUEST_TIMEOUT: { code: 'request_timeout', detail: 'The request did not arrive in time.' },
};
const MALFORMED = { code: 'invalid_request', detail: 'This is not a valid HTTP request.' } as const;

const SENT_ID = /^x-request-id:[ \t]*(\S+)[ \t]*\r?$/im;

/**
 * Makes a listener for the server's `clientError`.
 * @param errorTypeBase base address of error type URIs
 * @param current returns the answer under way on a connection, if there is one
 */
export function answerParserErrors(
  errorTypeBase: string,
  current: (socket: Duplex) => ServerResponse | undefined,
) {
  return (error: ParserError, socket: Duplex): void => {
    const begun = current(socket)?.headersSent === true;
    if (error.code === 'ECONNRESET' || !socket.writable || begun) {
      socket.destroy();
      return;
    }
    const { code, detail } = CODES[error.code ?? ''] ?? MALFORMED;
    const sent = error.rawPacket?.toString('latin1', 0, 16_384) ?? '';
    const requestId = requestIdOf(SENT_ID.exec(sent)?.[1]);
    const refusal = new ServiceError(code, { detail });
    socket.end(rawAnswer(refusal, { errorTypeBase, requestId }), () => socket.destroy());
  };
}

/**
 * Makes a listener for the server's `connect`. The service is no tunnel (RFC 9110 §9.3.6), and Node would close the
 * connection without an answer.
 */
export function refuseTunnels(
  errorTypeBase: string,
  current: (socket: Duplex) => ServerResponse | undefined,
) {
  return (request: IncomingMessage, socket: Duplex): void => {
    const refusal = new ServiceError('method_not_allowed', {
      detail: 'CONNECT is for proxies; this is none.',
      headers: { allow: 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS' },
    });
    const requestId = requestIdOf(request.headers['x-request-id']);
    const answer = () => socket.end(rawAnswer(refusal, { errorTypeBase, requestId }), () => socket.destroy());
    socket.on('error', () => socket.destroy());
    const before = current(socket);
    if (before === undefined) answer();
    else before.once('close', answer);
  };
}

function rawAnswer(error: ServiceError, place: { errorTypeBase: string; requestId: string }): string {
  const { status, headers, body } = toProblem(error, place);
  const text = JSON.stringify(body);
  return [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'connection: close',
    `date: ${new Date().toUTCString()}`,
    'content-type: application/problem+json',
    `content-length: ${Buffer.byteLength(text)}`,
    'cache-control: no-store',
    'x-content-type-options: nosniff',
    `x-request-id: ${place.requestId}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    '',
    text,
  ].join('\r\n');
}
