// Answers what Node's HTTP parser refuses before there is a request: 400, 408, 413, 431. Even such an answer is a problem with an id.
import { type ServerResponse, STATUS_CODES } from 'node:http';
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
 * A listener for the server's `clientError`.
 * @param errorTypeBase base address of error type URIs
 * @param current the answer under way on that connection, if there is one
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
    socket.end(rawAnswer(error, errorTypeBase), () => socket.destroy());
  };
}

function rawAnswer(error: ParserError, errorTypeBase: string): string {
  const { code, detail } = CODES[error.code ?? ''] ?? MALFORMED;
  const sent = error.rawPacket?.toString('latin1', 0, 16_384) ?? '';
  const requestId = requestIdOf(SENT_ID.exec(sent)?.[1]);
  const { status, body } = toProblem(new ServiceError(code, { detail }), { errorTypeBase, requestId });
  const text = JSON.stringify(body);
  return [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'connection: close',
    `date: ${new Date().toUTCString()}`,
    'content-type: application/problem+json',
    `content-length: ${Buffer.byteLength(text)}`,
    'cache-control: no-store',
    'x-content-type-options: nosniff',
    `x-request-id: ${requestId}`,
    '',
    text,
  ].join('\r\n');
}
