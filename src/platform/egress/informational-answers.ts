// Makes undici pass over an answer 100 that nobody asked for: undici ends the connection at a 100, but not at a 103.

import type { Socket } from 'node:net';

const STATUS_LINE = Buffer.from('HTTP/1.1 100');
const END_OF_HEAD = Buffer.from('\r\n\r\n');
const [CR, LF] = END_OF_HEAD;
const DIGITS = { least: 0x30, most: 0x39 };
/** The places of the status line that may have any digit: those of the version, and the last two of the status. */
const ANY_DIGIT = [5, 7, 10, 11];

/**
 * Finds the informational answers before a final one, in pieces as they arrive, and turns each 100 into a 103. Nothing
 * else changes, and nothing after the status of the final answer is read.
 * @returns `begin`, which makes the next byte the first one of an answer; `read`, which changes a piece in place
 * @see RFC 9110 §15.2: a client must be able to parse informational answers that it does not expect
 */
export function createInformationalReader() {
  let part: 'status line' | 'head' | 'final answer' = 'status line';
  let matched = 0;
  let isContinue = true;

  const begin = (): void => {
    part = 'status line';
    matched = 0;
    isContinue = true;
  };

  const readStatusLine = (piece: Uint8Array, index: number, byte: number): void => {
    // The parser passes over line ends before a status line.
    if (matched === 0 && (byte === CR || byte === LF)) return;
    const isExact = byte === STATUS_LINE[matched];
    if (!isExact && !(ANY_DIGIT.includes(matched) && byte >= DIGITS.least && byte <= DIGITS.most)) {
      part = 'final answer';
      return;
    }
    if (matched > 9) isContinue &&= isExact;
    matched += 1;
    if (matched < STATUS_LINE.length) return;
    if (isContinue) piece[index] = byte + 3;
    part = 'head';
    matched = 0;
  };

  const readHead = (byte: number): void => {
    if (byte === END_OF_HEAD[matched]) matched += 1;
    else matched = byte === CR ? 1 : 0;
    if (matched === END_OF_HEAD.length) begin();
  };

  const read = (piece: Uint8Array): void => {
    for (let index = 0; index < piece.length && part !== 'final answer'; index += 1) {
      const byte = piece[index] ?? 0;
      if (part === 'head') readHead(byte);
      else readStatusLine(piece, index, byte);
    }
  };

  return { begin, read };
}

/**
 * Passes what a socket receives through a reader of informational answers.
 * @returns a function to call before each request after the first
 */
export function passInformational(socket: Socket): () => void {
  const { begin, read } = createInformationalReader();
  const push = socket.push.bind(socket);
  // Node gives every piece that arrives to this function, before anybody reads it.
  socket.push = (piece: unknown, encoding?: BufferEncoding) => {
    if (piece instanceof Uint8Array) read(piece);
    return push(piece, encoding);
  };
  return begin;
}
