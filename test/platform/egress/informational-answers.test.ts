// Holds that an answer 100 before the final one is passed over, however the bytes are cut, and that no other byte
// changes.
import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { createInformationalReader } from '../../../src/platform/egress/informational-answers.ts';
import { attemptTo, startLocalSender } from '../../webhooks/deliveries/attempt.ts';
import {
  AUTHORITY_FILE,
  startRawReceiver,
  startSecureReceiver,
} from '../../webhooks/receiver/local-receiver.ts';

const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';
const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

/** The bytes after the reader, with the text cut before each of the places. */
function readInPieces(text: string, places: readonly number[] = []): string {
  const bytes = Buffer.from(text, 'latin1');
  const reader = createInformationalReader();
  const cuts = [0, ...places.map((place) => place % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  for (const [index, cut] of cuts.slice(1).entries()) reader.read(bytes.subarray(cuts[index], cut));
  return bytes.toString('latin1');
}

describe('the reader of informational answers', () => {
  it.each([
    ['a 100', CONTINUE, 'HTTP/1.1 103 Continue\r\n\r\n'],
    ['one without a reason, of HTTP/1.0', 'HTTP/1.0 100\r\n\r\n', 'HTTP/1.0 103\r\n\r\n'],
    ['one after line ends', `\r\n\r\n${CONTINUE}`, '\r\n\r\nHTTP/1.1 103 Continue\r\n\r\n'],
    [
      'one behind a 102',
      `HTTP/1.1 102 P\r\nA: b\r\n\r\n${CONTINUE}`,
      /^HTTP\/1.1 102 P\r\nA: b\r\n\r\nHTTP\/1.1 103 /,
    ],
  ])('turns %s into a 103', (_what, text, expected) => {
    expect(readInPieces(text)).toEqual(
      expected instanceof RegExp ? expect.stringMatching(expected) : expected,
    );
  });

  it.each([
    ['other informational answers', 'HTTP/1.1 101 S\r\n\r\nHTTP/1.1 103 E\r\n\r\nHTTP/1.1 199 X\r\n\r\n'],
    [
      'a 100 within the head of another one',
      `HTTP/1.1 103 E\r\n${CONTINUE}${OK}`.replace('100 Continue\r\n\r\n', '100 C\r\n'),
    ],
    ['a 100 behind a final answer', `${OK}${CONTINUE}`],
    ['a 100 that is the body', `HTTP/1.1 200 OK\r\nContent-Length: 25\r\n\r\n${CONTINUE}`],
    ['other protocols', 'SSH-2.0-100\r\n'],
    ['a status of other signs', 'HTTP/1.1 1a0 No\r\n\r\n'],
  ])('leaves %s as it is', (_what, text) => {
    expect(readInPieces(text)).toBe(text);
  });

  const header = fc
    .tuple(fc.constantFrom('Link', 'X', 'Connection'), fc.constantFrom('', 'HTTP/1.1 100', 'a\rb'))
    .map(([name, value]) => `${name}: ${value}\r\n`);
  const interim = fc
    .tuple(
      fc.constantFrom('\r\n', ''),
      fc.constantFrom('100', '102', '103'),
      fc.constantFrom('', ' ', ' HTTP/1.1 100'),
      fc.array(header, { maxLength: 3 }),
    )
    .map(([before, status, reason, headers]) => ({
      before,
      status,
      after: `${reason}\r\n${headers.join('')}\r\n`,
    }));
  const final = fc
    .tuple(fc.constantFrom('200', '503'), fc.constantFrom(CONTINUE, OK, 'x', ''))
    .map(([status, body]) => `HTTP/1.1 ${status} \r\nContent-Length: ${body.length}\r\n\r\n${body}`);

  it('changes the status of each 100 before the final answer, and nothing else, however the bytes are cut', () => {
    fc.assert(
      fc.property(
        fc.array(interim, { maxLength: 4 }),
        final,
        fc.array(fc.nat(), { maxLength: 12 }),
        (before, last, cuts) => {
          const write = (status: (of: string) => string) =>
            before.map((one) => `${one.before}HTTP/1.1 ${status(one.status)}${one.after}`).join('') + last;
          const sent = write((status) => status);
          expect(readInPieces(sent, cuts)).toBe(write((status) => (status === '100' ? '103' : status)));
        },
      ),
      { numRuns: 500 },
    );
  });

  it('begins anew with the next request', () => {
    const reader = createInformationalReader();
    const pieces = [OK, CONTINUE].map((text) => Buffer.from(text));
    for (const piece of pieces) {
      reader.begin();
      reader.read(piece);
    }
    expect(pieces[1]?.toString()).toMatch(/^HTTP\/1.1 103/);
  });
});

describe('an attempt that is answered by a 100', () => {
  const local = startLocalSender();
  afterAll(local.close);

  it.each([
    ['before the final answer', `${CONTINUE}${OK}`],
    ['more than once', `${CONTINUE}HTTP/1.1 102 Processing\r\n\r\n${CONTINUE}${OK}`],
    ['with headers', `HTTP/1.1 100 Continue\r\nDate: now\r\nContent-Length: 5\r\n\r\n${OK}`],
  ])('%s has the final answer, also byte by byte and over a kept connection', async (_when, answer) => {
    const receiver = await startRawReceiver((socket) => {
      socket.setNoDelay(true);
      let requests = 0;
      socket.on('data', async (data) => {
        if (!data.toString('latin1').startsWith('POST ')) return;
        requests += 1;
        if (requests > 1) socket.write(answer);
        else for (const byte of answer) await new Promise((resolve) => socket.write(byte, resolve));
      });
    });
    const url = `http://127.0.0.1:${receiver.port}/`;
    for (let count = 0; count < 3; count += 1) {
      const { outcome, responseExcerpt } = await local.sender.send(attemptTo(url));
      expect([outcome, responseExcerpt]).toEqual([{ kind: 'delivered', statusCode: 200 }, 'ok']);
      // The connection is free for the next request in a later turn.
      for (let turns = 0; turns < 5; turns += 1) await turn();
    }
    expect(receiver.connections()).toBe(1);
    await receiver.close();
  });

  it('over TLS has the final answer', async () => {
    const secure = startLocalSender({ caFile: AUTHORITY_FILE, lookup: async () => ['127.0.0.1'] });
    const receiver = await startSecureReceiver((_request, response) => {
      response.writeContinue();
      response.end('ok');
    });
    const { outcome } = await secure.sender.send(attemptTo(`https://receiver.test:${receiver.port}/`));
    expect(outcome).toEqual({ kind: 'delivered', statusCode: 200 });
    await secure.close();
    await receiver.close();
  });

  it('and by nothing else has no answer in time', async () => {
    const receiver = await startRawReceiver((socket) => socket.once('data', () => socket.write(CONTINUE)));
    const url = `http://127.0.0.1:${receiver.port}/`;
    const { outcome } = await local.sender.send(attemptTo(url, { timeoutMs: 300 }));
    expect(outcome).toMatchObject({ kind: 'retry', error: 'timeout:response' });
    await receiver.close();
  });
});
