// Bytes of bodies are counted before they are read: by client, tenant and process.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { type BodyRoom, createBodyRoom } from '../../../src/platform/http/body-room.ts';
import { defineRoute } from '../../../src/platform/http/route.ts';
import { PATIENCE } from '../../setup/patience.ts';
import { startTestServer, type TestServer, tokenFor } from './test-server.ts';

const LENGTH = 100_000;
const BODY = JSON.stringify({ text: 'x'.repeat(LENGTH - 11) });
const BOUNDS = { client: 2 * LENGTH, tenant: 4 * LENGTH, process: 16 * LENGTH };
const WAITING = { client: 2, tenant: 8, process: 32 };

let server: TestServer;
const closing: Socket[] = [];
afterEach(async () => {
  for (const socket of closing.splice(0)) socket.destroy();
  await server.drain(0);
});

async function start(room: BodyRoom, work: () => unknown = () => undefined) {
  const route = defineRoute({
    method: 'POST',
    path: '/thing',
    operationId: 'makeThing',
    summary: 'x',
    tag: 'Test',
    scope: 'agents:read',
    request: { body: z.looseObject({}) },
    responses: { 204: { description: 'ok' } },
    handler: async () => {
      await work();
      return { status: 204 };
    },
  });
  server = await startTestServer([route], { bodyRoom: room });
}

/** Announces a body and sends the first bytes of it. @returns the connection, whose text grows */
function open(client: string, { path = '/thing', body = '{', length = `content-length: ${LENGTH}` } = {}) {
  const socket = connect(server.port, '127.0.0.1').setEncoding('utf8');
  closing.push(socket.on('error', () => undefined));
  const answer = { text: '', socket };
  socket.on('data', (text) => {
    answer.text += text;
  });
  const token = `authorization: Bearer ${tokenFor(client, 'agents:read')}`;
  socket.write(
    `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n${token}\r\n${length}\r\n\r\n${body}`,
  );
  return answer;
}
const send = (client: string, path = '/thing') =>
  server.send('POST', path, BODY, { authorization: `Bearer ${tokenFor(client, 'agents:read')}` });

it('bodies that never end keep their client waiting, and no other one', async () => {
  const room = createBodyRoom({ bounds: BOUNDS, waiting: WAITING });
  await start(room);
  const stalled = [open('noisy'), open('noisy')];
  await vi.waitUntil(() => room.held() === 2 * LENGTH, PATIENCE);
  const waits = open('noisy', { body: BODY });
  expect((await send('other')).status).toBe(204);
  expect((await send('noisy', '/t/acme/thing')).status).toBe(204);
  expect(waits.text).toBe('');
  stalled[0]?.socket.destroy();
  await vi.waitUntil(() => waits.text.startsWith('HTTP/1.1 204'), PATIENCE);
  stalled[1]?.socket.destroy();
  await vi.waitUntil(() => room.held() === 0, PATIENCE);
});

it('too many that wait are refused with 503, and their connection ends', async () => {
  const room = createBodyRoom({ bounds: BOUNDS, waiting: WAITING });
  await start(room);
  for (let n = 0; n < 4; n += 1) open('noisy');
  await vi.waitUntil(() => room.held() === 2 * LENGTH, PATIENCE);
  const more = Array.from({ length: 3 }, () => open('noisy'));
  await vi.waitUntil(() => more.some(({ text }) => text.includes('\r\n\r\n')), PATIENCE);
  const refused = more.find(({ text }) => text !== '') ?? expect.fail();
  expect(refused.text).toMatch(/^HTTP\/1\.1 503 /);
  expect(refused.text.toLowerCase()).toContain('retry-after: 1');
  expect(refused.text.toLowerCase()).toContain('connection: close');
  if (!refused.socket.closed) await once(refused.socket, 'close');
  expect((await send('other')).status).toBe(204);
});

it('one that waits for too long is refused with 503', async () => {
  const room = createBodyRoom({ bounds: BOUNDS, waiting: WAITING, patience: 20 });
  await start(room);
  for (let n = 0; n < 2; n += 1) open('noisy');
  await vi.waitUntil(() => room.held() === 2 * LENGTH, PATIENCE);
  const waits = open('noisy', { body: BODY });
  await vi.waitUntil(() => waits.text.startsWith('HTTP/1.1 503'), PATIENCE);
});

it('a body keeps its room to the end of its work, and a short one needs none', async () => {
  const room = createBodyRoom({ bounds: BOUNDS, waiting: WAITING });
  let finish: () => void = () => undefined;
  const work = vi.fn(() => new Promise<void>((resolve) => (finish = resolve)));
  await start(room, work);
  const sent = send('app');
  await vi.waitUntil(() => work.mock.calls.length === 1, PATIENCE);
  expect(room.held()).toBe(LENGTH);
  finish();
  expect((await sent).status).toBe(204);
  expect(room.held()).toBe(0);
  const short = open('app', { body: '{}', length: 'content-length: 2' });
  await vi.waitUntil(() => work.mock.calls.length === 2, PATIENCE);
  expect(room.held()).toBe(0);
  finish();
  await vi.waitUntil(() => short.text.startsWith('HTTP/1.1 204'), PATIENCE);
});

it('a body that does not say its length counts as the longest until it has come', async () => {
  const room = createBodyRoom({ bounds: BOUNDS, waiting: WAITING });
  await start(room);
  const chunked = open('app', { length: 'transfer-encoding: chunked', body: '2\r\n{}\r\n' });
  await vi.waitUntil(() => room.held() === 131_072, PATIENCE);
  chunked.socket.write('0\r\n\r\n');
  await vi.waitUntil(() => chunked.text.startsWith('HTTP/1.1 204'), PATIENCE);
  expect(room.held()).toBe(0);
});
