// Sends to receivers that misbehave in every way they can. Each must cost one bounded attempt, and nothing else.
import type { Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { MAX_INFORMATIONAL, MAX_WIRE_BYTES } from '../../../src/platform/egress/guarded-exchange.client.ts';
import { MAX_RESPONSE_BYTES } from '../../../src/webhooks/deliveries/delivery.client.ts';
import { watchClientSockets } from '../../platform/egress/client-sockets.ts';
import { type LocalReceiver, startRawReceiver, startReceiver } from '../receiver/local-receiver.ts';
import { attemptTo, expectBounded, holdDeadlines, startLocalSender } from './attempt.ts';

const local = startLocalSender();
const client = watchClientSockets();
const receivers: LocalReceiver[] = [];

afterEach(async () => {
  await Promise.all(receivers.splice(0).map((receiver) => receiver.close()));
});
afterAll(async () => {
  client.stop();
  await local.close();
});

/** One attempt against a receiver that answers each request on a bare socket. */
async function attemptAgainst(answer: (socket: Socket) => void, changes: { timeoutMs?: number } = {}) {
  const sockets: Socket[] = [];
  const receiver = await startRawReceiver((socket) => {
    sockets.push(socket);
    socket.once('data', () => answer(socket));
  });
  receivers.push(receiver);
  const result = await local.sender.send(attemptTo(`http://127.0.0.1:${receiver.port}/`, changes));
  expectBounded(result);
  return { result, receiver, sockets };
}

/** The same, and its deadline comes when the sender has read of the answer. */
async function attemptUntilDeadline(answer: (socket: Socket) => void) {
  const deadlines = holdDeadlines();
  try {
    return await attemptAgainst((socket) => {
      answer(socket);
      void untilRead(socket).then(deadlines.end);
    });
  } finally {
    deadlines.release();
  }
}

/** Waits until the sender has read something that was written to this socket. */
async function untilRead({ localPort = 0 }: Socket): Promise<void> {
  while (client.mostReadFrom(localPort) === 0) await turn();
}

const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n';

function repeat(socket: Socket, everyMs: number, write: () => void): void {
  const timer = setInterval(write, everyMs);
  socket.on('close', () => clearInterval(timer));
}

/** Writes as fast as it is read, for ever. */
function flood(socket: Socket, bytes: string): void {
  const more = () => {
    while (!socket.destroyed && socket.write(bytes));
  };
  socket.on('drain', more);
  more();
}

async function closed(socket: Socket | undefined): Promise<boolean> {
  while (socket?.destroyed === false) await turn();
  return socket?.destroyed === true;
}

describe('a hostile receiver costs one bounded attempt:', () => {
  it('an answer without end is read to 64 KiB and then cut off', async () => {
    const { result, sockets } = await attemptAgainst((socket) => {
      socket.write(`${HEAD}Transfer-Encoding: chunked\r\n\r\n`);
      const chunk = `${(8192).toString(16)}\r\n${'x'.repeat(8192)}\r\n`;
      repeat(socket, 1, () => socket.write(chunk));
    });
    expect(result.outcome.kind).toBe('delivered');
    expect(await closed(sockets[0])).toBe(true);
    expect(sockets[0]?.bytesWritten ?? 0).toBeLessThan(MAX_RESPONSE_BYTES * 64);
  });

  it('a body that drips counts by its status, and ends with the deadline', async () => {
    const drip = (status: string) => (socket: Socket) => {
      socket.write(`HTTP/1.1 ${status}\r\nContent-Length: 100000\r\n\r\n`);
      repeat(socket, 20, () => socket.write('x'));
    };
    const accepted = await attemptUntilDeadline(drip('200 OK'));
    expect(accepted.result.outcome.kind).toBe('delivered');
    const failed = await attemptUntilDeadline(drip('503 Later'));
    expect(failed.result.outcome).toMatchObject({ kind: 'retry', error: 'http:503' });
    expect(await closed(failed.sockets[0])).toBe(true);
  });

  it('headers that drip end with the deadline', async () => {
    const { result, sockets } = await attemptUntilDeadline((socket) => {
      socket.write(HEAD);
      repeat(socket, 20, () => socket.write('X-Drip: 1\r\n'));
    });
    expect(result.outcome).toMatchObject({ kind: 'retry', errorClass: 'timeout', error: 'timeout:response' });
    expect(await closed(sockets[0])).toBe(true);
  });

  it('silence ends with the deadline', async () => {
    const { result } = await attemptAgainst(() => {}, { timeoutMs: 600 });
    expect(result.outcome).toMatchObject({ errorClass: 'timeout' });
    expect(result.durationMs).toBeGreaterThanOrEqual(590);
  });

  it('informational answers without end are cut off, a few are passed over', async () => {
    const hint = 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n';
    const { result, sockets } = await attemptAgainst((socket) => {
      repeat(socket, 1, () => socket.write(hint.repeat(4)));
    });
    expect(result.outcome).toMatchObject({ error: 'protocol:TOO_MANY_INFORMATIONAL' });
    expect(result.statusCode).toBeNull();
    expect(await closed(sockets[0])).toBe(true);
    const few = await attemptAgainst((socket) => {
      socket.end(`${hint.repeat(MAX_INFORMATIONAL)}${HEAD}Content-Length: 2\r\n\r\nok`);
    });
    expect(few.result).toMatchObject({ outcome: { kind: 'delivered' }, responseExcerpt: 'ok' });
  });

  it('a body in as many pieces as it has bytes is put together', async () => {
    const { result } = await attemptAgainst((socket) => {
      const pieces = Array.from({ length: 5000 }, (_, index) => `1\r\n${index % 10}\r\n`);
      socket.end(`${HEAD}Transfer-Encoding: chunked\r\n\r\n${pieces.join('')}0\r\n\r\n`);
    });
    expect(result.responseExcerpt).toBe('0123456789'.repeat(103).slice(0, 1024));
  });

  it('a flood of headers is cut off', async () => {
    const { result } = await attemptAgainst((socket) => {
      socket.write(`${HEAD}${`X-Flood: ${'x'.repeat(1000)}\r\n`.repeat(66)}\r\n`);
    });
    expect(result.outcome).toMatchObject({ kind: 'retry', errorClass: 'too_large' });
  });

  it('one header without end is cut off', async () => {
    const { result } = await attemptAgainst((socket) => {
      socket.write(`${HEAD}X-Long: `);
      repeat(socket, 1, () => socket.write('x'.repeat(4096)));
    });
    expect(result.outcome).toMatchObject({ kind: 'retry', errorClass: 'too_large' });
  });

  it.each([
    ['a reason phrase', 'HTTP/1.1 200 ', { kind: 'retry', error: 'too_large:ANSWER_TOO_LONG' }],
    ['a chunk extension', `${HEAD}Transfer-Encoding: chunked\r\n\r\n1;a=`, { kind: 'delivered' }],
  ])('%s without end is cut off after 1 MiB', async (_name, head, outcome) => {
    const { result, receiver } = await attemptAgainst((socket) => {
      socket.write(head);
      flood(socket, 'x'.repeat(65_536));
    });
    expect(result.outcome).toMatchObject(outcome);
    expect(client.mostReadFrom(receiver.port)).toBeGreaterThan(MAX_WIRE_BYTES);
    expect(client.mostReadFrom(receiver.port)).toBeLessThan(2 * MAX_WIRE_BYTES);
  });

  it('a compressed bomb is not unpacked', async () => {
    const bomb = gzipSync(Buffer.alloc(32 * 1024 * 1024));
    const { result } = await attemptAgainst((socket) => {
      socket.end(
        Buffer.concat([
          Buffer.from(`${HEAD}Content-Encoding: gzip\r\nContent-Length: ${bomb.length}\r\n\r\n`),
          bomb,
        ]),
      );
    });
    expect(result.outcome.kind).toBe('delivered');
  });

  it.each([
    ['a reset before the answer', (socket: Socket) => socket.resetAndDestroy(), 'reset'],
    ['an end before the answer', (socket: Socket) => socket.end(), 'reset'],
    [
      'a reset within the headers',
      (socket: Socket) => void socket.write(HEAD, () => socket.resetAndDestroy()),
      'reset',
    ],
    ['an answer of another protocol', (socket: Socket) => socket.end('SSH-2.0-OpenSSH_9.0\r\n'), 'protocol'],
    ['bytes that mean nothing', (socket: Socket) => socket.end(Buffer.alloc(4096, 0)), 'protocol'],
    [
      'two content lengths',
      (socket: Socket) => socket.end(`${HEAD}Content-Length: 1\r\nContent-Length: 2\r\n\r\nab`),
      'protocol',
    ],
    ['NUL within a header', (socket: Socket) => socket.end(`${HEAD}X: a\0b\r\n\r\n`), 'protocol'],
    ['an HTTP/2 preface', (socket: Socket) => socket.end('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), 'protocol'],
  ])('%s', async (_name, answer, errorClass) => {
    const { result } = await attemptAgainst((socket) => void answer(socket));
    expect(result.outcome).toMatchObject({ kind: 'retry', statusCode: null, errorClass, hold: false });
  });

  it.each([
    ['lines that end by LF alone', 'HTTP/1.1 200 OK\nA: b\n\n', 'MISSING_EXPECTED_CR_AFTER_RESPONSE_LINE'],
    [
      'a header line that ends by LF alone',
      `${HEAD}A: b\nC: d\r\n\r\n`,
      'MISSING_EXPECTED_CR_AFTER_HEADER_VALUE',
    ],
    ['a folded header', `${HEAD}A: b\r\n c\r\n\r\n`, 'UNEXPECTED_WHITESPACE_AFTER_HEADER_VALUE'],
    ['a space in a name', `${HEAD}A b: c\r\n\r\n`, 'INVALID_HEADER_TOKEN'],
    ['a space before the colon', `${HEAD}Content-Length : 0\r\n\r\n`, 'INVALID_HEADER_FIELD_CHAR'],
    ['another protocol', 'SSH-2.0-OpenSSH_9.0\r\n', 'EXPECTED_HTTP_RTSP_OR_ICE'],
    ['a status of four digits', 'HTTP/1.1 2000 OK\r\n\r\n', 'INVALID_RESPONSE_STATUS'],
  ])('%s is named in the reason', async (_name, answer, code) => {
    const { result } = await attemptAgainst((socket) => void socket.end(answer));
    expect(result.outcome).toMatchObject({ kind: 'retry', statusCode: null, error: `protocol:${code}` });
  });

  it('an upgrade nobody asked for', async () => {
    const { result } = await attemptAgainst((socket) => {
      socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n');
    });
    expect(result.outcome).toMatchObject({ kind: 'retry', error: 'protocol:BAD_RESPONSE' });
  });

  it('a reset within the body of a 200 counts as delivered: the answer was given', async () => {
    const { result } = await attemptAgainst((socket) => {
      socket.write(`${HEAD}Content-Length: 1000\r\n\r\nabc`);
      void untilRead(socket).then(() => socket.resetAndDestroy());
    });
    expect(result.outcome.kind).toBe('delivered');
    expect(result.responseExcerpt).toBe('abc');
  });

  it('a second answer smuggled behind the first is not taken for the next attempt’s', async () => {
    const receiver = await startRawReceiver((socket) => {
      socket.once('data', () => {
        socket.write(
          'HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n',
        );
      });
    });
    receivers.push(receiver);
    const attempt = attemptTo(`http://127.0.0.1:${receiver.port}/`);
    const outcomes = [await local.sender.send(attempt), await local.sender.send(attempt)];
    expect(outcomes.map(({ statusCode }) => statusCode)).toEqual([500, 500]);
  });

  it('a kept-alive connection that was closed meanwhile is not used again', async () => {
    const receiver = await startReceiver((request, response) => {
      request.resume();
      response.end('ok', () => setTimeout(() => request.socket.destroy(), 20));
    });
    receivers.push(receiver);
    const attempt = attemptTo(`http://127.0.0.1:${receiver.port}/`);
    for (let count = 0; count < 3; count++) {
      expect((await local.sender.send(attempt)).outcome.kind).toBe('delivered');
      while (client.openTo(receiver.port) > 0) await turn();
    }
    expect(receiver.connections()).toBe(3);
  });
});
