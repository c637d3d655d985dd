// Holds what becomes of a request when a kept connection ends as it is used: it is sent once more on a new connection,
// as the same attempt, unless a byte of an answer has come.
import type { Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { attemptTo, startLocalSender } from '../../webhooks/deliveries/attempt.ts';
import {
  AUTHORITY_FILE,
  type LocalReceiver,
  startRawReceiver,
  startSecureReceiver,
} from '../../webhooks/receiver/local-receiver.ts';

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n';

const open: { close(): Promise<unknown> }[] = [];
afterEach(async () => {
  for (const part of open.splice(0)) await part.close();
});

type Received = { connection: number; request: number; text: string };

/** A receiver that answers each request as `answer` says; requests are counted for each connection, from 1. */
async function startCounting(answer: (socket: Socket, at: Received) => void) {
  const received: Received[] = [];
  let connections = 0;
  const receiver: LocalReceiver = await startRawReceiver((socket) => {
    connections += 1;
    const connection = connections;
    let request = 0;
    socket.on('data', (data) => {
      request += 1;
      const at = { connection, request, text: data.toString('latin1') };
      received.push(at);
      answer(socket, at);
    });
  });
  open.push(receiver);
  return { received, url: `http://127.0.0.1:${receiver.port}/`, connections: receiver.connections };
}

function startSender() {
  const local = startLocalSender();
  open.push(local);
  return local.sender;
}

/** A kept connection is free for the next request in a later turn. */
async function untilFree(): Promise<void> {
  for (let turns = 0; turns < 5; turns += 1) await turn();
}

const ends: [string, (socket: Socket) => void][] = [
  ['an end', (socket) => void socket.end()],
  ['a reset', (socket) => void socket.resetAndDestroy()],
];

describe('a kept connection', () => {
  it.each(ends)('that ends as it is used, by %s, costs no attempt', async (_name, end) => {
    const receiver = await startCounting((socket, { connection, request }) => {
      if (connection === 1 && request === 2) end(socket);
      else socket.write(OK);
    });
    const sender = startSender();
    await sender.send(attemptTo(receiver.url));
    await untilFree();
    const result = await sender.send(attemptTo(receiver.url));
    expect(result.outcome).toEqual({ kind: 'delivered', statusCode: 200 });
    expect(result.phases.connect_ms).toEqual(expect.any(Number));
    const places = receiver.received.map(({ connection, request }) => [connection, request]);
    expect(places).toEqual([
      [1, 1],
      [1, 2],
      [2, 1],
    ]);
    // The same delivery, signed at the same time.
    const [, lost = '', again] = receiver.received.map(({ text }) => text);
    expect(again).toBe(lost.replace('connection: keep-alive', 'connection: close'));
  });

  it.each<[string, (socket: Socket) => void]>([
    ['an end', (socket) => void socket.end()],
    ['a reset', (socket) => void socket.destroy()],
  ])('that ends as it is used, over TLS, by %s, costs no attempt', async (_name, end) => {
    const requests = new Map<Socket, number>();
    const receiver = await startSecureReceiver((request, response) => {
      const count = (requests.get(request.socket) ?? 0) + 1;
      requests.set(request.socket, count);
      if (requests.size === 1 && count === 2) end(request.socket);
      else response.end('ok');
    });
    const local = startLocalSender({ caFile: AUTHORITY_FILE, lookup: async () => ['127.0.0.1'] });
    open.push(receiver, local);
    for (let count = 0; count < 2; count += 1) {
      const { outcome } = await local.sender.send(attemptTo(`https://receiver.test:${receiver.port}/`));
      expect(outcome).toEqual({ kind: 'delivered', statusCode: 200 });
      await untilFree();
    }
    expect([...requests.values()]).toEqual([2, 1]);
  });

  it.each(ends)('that ends by %s is not replaced twice', async (_name, end) => {
    const receiver = await startCounting((socket, { connection, request }) => {
      if (connection === 1 && request === 1) socket.write(OK);
      else end(socket);
    });
    const sender = startSender();
    await sender.send(attemptTo(receiver.url));
    await untilFree();
    const { outcome } = await sender.send(attemptTo(receiver.url));
    expect(outcome).toMatchObject({ kind: 'retry', errorClass: 'reset' });
    expect(receiver.received).toHaveLength(3);
  });

  it('that ends is replaced by a new one, not by another kept one', async () => {
    const waiting: Socket[] = [];
    const receiver = await startCounting((socket, { connection, request }) => {
      if (request === 2) socket.end();
      else if (connection > 2) socket.write(OK);
      else if (waiting.push(socket) === 2) for (const each of waiting) each.write(OK);
    });
    const sender = startSender();
    await Promise.all([1, 2].map(() => sender.send(attemptTo(receiver.url))));
    await untilFree();
    expect((await sender.send(attemptTo(receiver.url))).outcome.kind).toBe('delivered');
    expect(receiver.received.map(({ connection }) => connection).slice(-1)).toEqual([3]);
    expect(receiver.received).toHaveLength(4);
  });

  it.each(['H', 'HTTP/1.1 100 Continue\r\n\r\n', '\r\n'])(
    'that ends after %j is not replaced',
    async (byte) => {
      const receiver = await startCounting((socket, { request }) => {
        if (request === 1) socket.write(OK);
        else socket.end(byte);
      });
      const sender = startSender();
      await sender.send(attemptTo(receiver.url));
      await untilFree();
      const { outcome } = await sender.send(attemptTo(receiver.url));
      expect(outcome).toMatchObject({ kind: 'retry', statusCode: null });
      expect(receiver.connections()).toBe(1);
    },
  );

  it.each(ends)('that is new and ends by %s is not replaced', async (_name, end) => {
    const receiver = await startCounting(end);
    const { outcome } = await startSender().send(attemptTo(receiver.url));
    expect(outcome).toMatchObject({ kind: 'retry', errorClass: 'reset' });
    expect(receiver.received).toHaveLength(1);
  });

  it.each([
    ['nothing', '', 4_000],
    ['5 s', 'Keep-Alive: timeout=5\r\n', 3_000],
    ['a minute', 'Keep-Alive: timeout=60\r\n', 58_000],
    ['an hour', 'Keep-Alive: timeout=3600\r\n', 60_000],
  ])(
    'whose server announces %s is kept for less than that, and than 5 s or a minute',
    async (_what, header, ms) => {
      const timers = vi.spyOn(globalThis, 'setTimeout');
      onTestFinished(() => timers.mockRestore());
      const answer = OK.replace('\r\n\r\n', `\r\n${header}\r\n`);
      const receiver = await startCounting((socket) => void socket.write(answer));
      await startSender().send(attemptTo(receiver.url));
      await untilFree();
      const kept = timers.mock.calls.filter(([callback]) => callback.name === 'onParserTimeout');
      expect(kept.map(([, duration]) => duration)).toEqual([ms]);
    },
  );

  it('that stays silent ends with the deadline, once', async () => {
    const receiver = await startCounting((socket, { request }) => request === 1 && socket.write(OK));
    const sender = startSender();
    await sender.send(attemptTo(receiver.url));
    await untilFree();
    const { outcome } = await sender.send(attemptTo(receiver.url, { timeoutMs: 200 }));
    expect(outcome).toMatchObject({ error: 'timeout:response' });
    expect(receiver.received).toHaveLength(2);
  });
});
