// Answers that clients do not take: their connections end, and the bytes that wait are bounded.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { defineRoute, type Route } from '../../../src/platform/http/route.ts';
import { createRoom, type Room } from '../../../src/platform/room.ts';
import { PATIENCE } from '../../setup/patience.ts';
import { startTestServer, type TestServer } from './test-server.ts';

const MIB = 1024 * 1024;
/** More than the kernel keeps for a connection whose client does not read. */
const LARGE = 'x'.repeat(24 * MIB);

const route = (path: string, method: 'GET' | 'POST', answer: () => Promise<string>): Route =>
  defineRoute({
    method,
    path,
    operationId: path.slice(1),
    summary: 'x',
    tag: 'Test',
    scope: null,
    responses: { 200: { description: 'ok', schema: z.string(), contentType: 'text/plain' } },
    errors: [],
    handler: async () => ({ status: 200, body: await answer() }),
  });

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function start(
  answer: number,
  routes: Route[],
  answerRoom: Room = createRoom({ client: 64 * MIB, tenant: 64 * MIB, process: 128 * MIB }),
) {
  const server = await startTestServer(routes, { limits: { answer }, answerRoom });
  closing.push(() => server.drain(0));
  return server;
}

/** Sends a request on a connection that is not read. @returns both its ends */
async function ask(
  server: TestServer,
  path: string,
  method = 'GET',
): Promise<{ ours: Socket; theirs: Socket }> {
  const accepted = once(server.server, 'connection');
  const ours = connect(server.port, '127.0.0.1').pause();
  closing.push(() => ours.destroy());
  ours.on('error', () => undefined);
  const [theirs] = await accepted;
  ours.write(`${method} ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
  return { ours, theirs };
}

describe('a connection', () => {
  it('ends when its client takes nothing of the answer', async () => {
    const server = await start(200, [route('/large', 'GET', async () => LARGE)]);
    const { theirs } = await ask(server, '/large');
    await once(theirs, 'close');
    expect(theirs.bytesRead).toBeGreaterThan(0);
  });

  it('goes on while its client takes the answer slowly, for much longer than one may take nothing', async () => {
    const server = await start(1_000, [route('/large', 'GET', async () => LARGE)]);
    const { ours, theirs } = await ask(server, '/large');
    const timeouts = vi.fn();
    theirs.on('timeout', timeouts);
    let taken = 0;
    ours.on('data', (data) => {
      taken += data.length;
      ours.pause();
    });
    const reading = setInterval(() => ours.resume(), 10);
    closing.push(() => clearInterval(reading));
    await vi.waitUntil(() => taken > LARGE.length, PATIENCE);
    expect(timeouts).not.toHaveBeenCalled();
  });

  it('stays open while its request is worked on, and idle after its answer', async () => {
    let finish: (text: string) => void = () => undefined;
    const work = new Promise<string>((resolve) => {
      finish = resolve;
    });
    const server = await start(50, [route('/slow', 'GET', () => work)]);
    const { ours, theirs } = await ask(server, '/slow');
    await once(theirs, 'timeout');
    finish('done');
    const [answer] = await once(ours.resume(), 'data');
    expect(String(answer)).toMatch(/^HTTP\/1.1 200 /);
    // While it idles, Node keeps it for the time of an idle connection.
    await vi.waitUntil(() => Number(theirs.timeout) > 10_000, PATIENCE);
    expect(theirs.destroyed).toBe(false);
  });
});

describe('the bytes that wait', () => {
  it('are bounded: a GET beyond is 503 without its work until some were taken, and a POST is answered', async () => {
    const room = createRoom({ client: 20 * MIB, tenant: 60 * MIB, process: 120 * MIB });
    const large = vi.fn(async () => LARGE);
    const routes = [
      route('/large', 'GET', large),
      route('/small', 'GET', async () => 'small'),
      route('/work', 'POST', async () => LARGE),
    ];
    const server = await start(60_000, routes, room);
    const { theirs } = await ask(server, '/large');
    await vi.waitUntil(() => room.held() > 0, PATIENCE);
    const refused = await server.fetch('/large');
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
    expect((await refused.json()).error).toBe('temporarily_unavailable');
    expect(large).toHaveBeenCalledOnce();
    const done = await server.fetch('/work', { method: 'POST' });
    expect((await done.text()).length).toBe(LARGE.length);
    theirs.destroy();
    await vi.waitUntil(() => room.held() === 0, PATIENCE);
    expect((await (await server.fetch('/small')).text()).length).toBe(5);
    await vi.waitUntil(() => room.held() === 0, PATIENCE);
  });

  it('are given back by an answer behind another one when the connection ends', async () => {
    const room = createRoom({ client: 64 * MIB, tenant: 64 * MIB, process: 128 * MIB });
    const server = await start(60_000, [route('/large', 'GET', async () => LARGE)], room);
    const { ours, theirs } = await ask(server, '/large');
    ours.write('GET /large HTTP/1.1\r\nHost: x\r\n\r\n');
    await vi.waitUntil(() => room.held() >= LARGE.length, PATIENCE);
    theirs.destroy();
    await vi.waitUntil(() => room.held() === 0, PATIENCE);
  });
});
