// Bodies that nobody wants: how they are discarded.
import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { Readable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, it, onTestFinished, vi } from 'vitest';
import { z } from 'zod';
import { discard } from '../../../src/platform/http/request-body.ts';
import { defineRoute } from '../../../src/platform/http/route.ts';
import { startTestServer } from './test-server.ts';

const routes = [
  defineRoute({
    method: 'POST',
    path: '/small',
    operationId: 'small',
    summary: 'x',
    tag: 'Test',
    scope: null,
    request: { body: z.looseObject({}) },
    responses: { 204: { description: 'ok' } },
    handler: () => ({ status: 204 }),
  }),
];

it.each([
  ['beyond the limit', '/small', 413],
  ['of a request to no address', '/none', 404],
])(
  'a body %s is read to its end, and its connection serves the next request',
  async (_what, path, status) => {
    const server = await startTestServer(routes);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    onTestFinished(async () => {
      agent.destroy();
      await server.drain(0);
    });
    const send = async (to: string, body: string) => {
      const headers = { 'content-type': 'application/json', 'content-length': body.length };
      const sent = request({
        port: server.port,
        host: '127.0.0.1',
        agent,
        method: 'POST',
        path: to,
        headers,
      });
      const answered = once(sent, 'response') as Promise<[IncomingMessage]>;
      sent.end(body);
      const [answer] = await answered;
      await once(answer.resume(), 'end');
      return { status: answer.statusCode, from: sent.socket?.localPort };
    };
    const first = await send(path, ' '.repeat(400_000));
    const second = await send('/small', '{}');
    expect([first.status, second]).toEqual([status, { status: 204, from: first.from }]);
  },
);

it('a body is discarded a piece at a time, so that floods of them leave time for others', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  onTestFinished(() => {
    vi.useRealTimers();
  });
  let pieces = 0;
  const body = new Readable({
    highWaterMark: 1,
    read() {
      pieces += 1;
      this.push('x'.repeat(1_000));
    },
  });
  discard(Object.assign(body, { complete: false }) as unknown as IncomingMessage);
  for (let n = 0; n < 20; n += 1) await turn();
  const atOnce = pieces;
  expect(atOnce).toBeLessThan(4);
  vi.advanceTimersByTime(20);
  for (let n = 0; n < 20; n += 1) await turn();
  expect(pieces).toBeGreaterThan(atOnce);
  expect(pieces).toBeLessThan(2 * atOnce + 2);
});
