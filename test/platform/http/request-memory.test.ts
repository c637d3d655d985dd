// What a process keeps of requests that have ended, until its next full collection: V8 moves to its old space what an
// old object holds, also a dead one, and each request that lies there makes collections longer.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { defineRoute } from '../../../src/platform/http/route.ts';
import { startTestServer } from './test-server.ts';

setFlagsFromString('--expose-gc');
const collect: (options: { type: 'minor' }) => void = runInNewContext('gc');

const CONNECTIONS = 16;
const ROUNDS = 20;
const BODY = JSON.stringify({ text: 'x'.repeat(15_000) });
const REQUEST = `POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`;

const route = defineRoute({
  method: 'POST',
  path: '/',
  operationId: 'test',
  summary: 'x',
  tag: 'Test',
  scope: null,
  request: { body: z.object({ text: z.string() }) },
  responses: { 200: { description: 'ok', schema: z.object({ length: z.number() }) } },
  errors: [],
  handler: async ({ body, bodyText }) => ({
    status: 200,
    body: { length: body.text.length + bodyText().length },
  }),
});

/** Bytes of what has survived two collections of young objects. */
function oldBytes(): number {
  collect({ type: 'minor' });
  collect({ type: 'minor' });
  const old = getHeapSpaceStatistics().filter(({ space_name: name }) => !name.startsWith('new_'));
  return old.reduce((sum, { space_used_size: used }) => sum + used, 0);
}

async function ask(socket: Socket): Promise<void> {
  const answered = once(socket, 'data');
  socket.write(REQUEST);
  expect(String(await answered)).toContain('HTTP/1.1 200');
}

it('nothing of ended requests becomes old', async () => {
  const server = await startTestServer([route], { config: { nodeEnv: 'production' } });
  const sockets = Array.from({ length: CONNECTIONS }, () => connect(server.port, '127.0.0.1'));
  const round = async () => {
    await Promise.all(sockets.map(ask));
    return oldBytes();
  };
  for (let n = 0; n < ROUNDS; n += 1) await round();
  const before = oldBytes();
  let after = before;
  for (let n = 0; n < ROUNDS; n += 1) after = await round();
  for (const socket of sockets) socket.destroy();
  await server.drain(0);
  const sent = CONNECTIONS * ROUNDS * BODY.length;
  expect((after - before) / sent).toBeLessThan(0.1);
});
