// What an attempt says of its time, what a kept connection saves, and what poisons one: through the whole engine, as
// GET shows it.
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createDeliveryRoutes } from '../../../src/webhooks/deliveries/delivery.routes.ts';
import { startTestServer, type TestServer, tokenFor } from '../../platform/http/test-server.ts';
import { createEngine, type DeliveryEngine, eventually } from '../../workflows/delivery-engine.ts';
import {
  AUTHORITY_FILE,
  type LocalReceiver,
  startRawReceiver,
  startSecureReceiver,
} from '../receiver/local-receiver.ts';
import { holdDeadlines } from './attempt.ts';

const HOUR = 3_600_000;
/** How long a part of an exchange is made to take, and how much less a timer may have waited. */
const PART = 250;
const SLACK = 5;

type Attempt = { phases: Record<string, number | null>; duration_ms: number; status_code: number | null };

describe('an attempt', () => {
  let engine: DeliveryEngine;
  let api: TestServer;
  const receivers: LocalReceiver[] = [];

  beforeAll(async () => {
    const lookup = async (name: string) => {
      if (!name.endsWith('.test')) return [name];
      await sleep(PART);
      return ['127.0.0.1'];
    };
    engine = await createEngine({ egress: { caFile: AUTHORITY_FILE, lookup } });
    const workflows = { uiUrl: 'http://localhost:8233', namespace: 'countersign' };
    api = await startTestServer(createDeliveryRoutes({ deliveries: engine.deliveries, workflows }), {
      database: engine.database,
      tenants: { bySlug: async () => engine.context.tenant },
    });
    await engine.startProcess();
  });
  afterAll(async () => {
    await engine.close();
    await api.drain();
    for (const receiver of receivers) await receiver.close();
  });

  const opened = (receiver: LocalReceiver): LocalReceiver => {
    receivers.push(receiver);
    return receiver;
  };

  /** One delivery, and its only attempt as the API shows it. */
  const deliver = async (subscription: string): Promise<Attempt> => {
    const [delivery = ''] = await engine.publish(subscription);
    await eventually(async () => (await engine.delivery(delivery)).attempt_count >= 1, 'the attempt');
    const authorization = `Bearer ${tokenFor('app', 'webhooks:read')}`;
    const { body } = await api.send('GET', `/api/v1/deliveries/${delivery}`, undefined, { authorization });
    expect(body.attempts).toHaveLength(1);
    // The connection is free for the next request in a later turn of the event loop.
    await sleep(100);
    return body.attempts[0];
  };

  it('tells the time of each phase, and has none of a connection for what goes over a kept one', async () => {
    const receiver = opened(
      await startSecureReceiver((request, response) => {
        request.resume().on('end', async () => {
          await sleep(PART);
          response.writeHead(200, { 'content-length': '2' });
          response.write('o');
          await sleep(PART);
          response.end('k');
        });
      }),
    );
    const { id } = await engine.subscribe({ url: `https://receiver.test:${receiver.port}/` });
    const first = await deliver(id);
    const {
      dns_ms: dns,
      connect_ms: connect,
      tls_ms: tls,
      first_byte_ms: byte,
      total_ms: total,
    } = first.phases;
    expect(Object.keys(first.phases)).toHaveLength(5);
    expect(dns).toBeGreaterThanOrEqual(PART - SLACK);
    expect(connect).toBeGreaterThan(0);
    expect(tls).toBeGreaterThan(0);
    expect(byte).toBeGreaterThanOrEqual(PART - SLACK);
    const parts = [dns, connect, tls, byte].reduce<number>((sum, phase) => sum + (phase ?? 0), 0);
    expect(total).toBeGreaterThanOrEqual(parts - SLACK);
    // The look-up, the wait for the first byte and the wait for the last one follow each other.
    expect(total).toBeGreaterThanOrEqual(3 * PART - SLACK);
    expect(first.duration_ms).toBeGreaterThanOrEqual(3 * PART - SLACK);
    const second = await deliver(id);
    expect(second.phases).toMatchObject({ dns_ms: null, connect_ms: null, tls_ms: null });
    expect(second.phases.first_byte_ms).toBeGreaterThanOrEqual(PART - SLACK);
    expect(second.phases.total_ms).toBeGreaterThanOrEqual(2 * PART - SLACK);
    expect(receiver.connections()).toBe(1);
  });

  it('counts the first byte of an answer, not the end of its head', async () => {
    const receiver = opened(
      await startRawReceiver((socket) =>
        socket.once('data', async () => {
          socket.write('HTTP/1.1 200 OK\r\n');
          await sleep(4 * PART);
          socket.end('Content-Length: 0\r\n\r\n');
        }),
      ),
    );
    const { id } = await engine.subscribe({ url: `http://127.0.0.1:${receiver.port}/` });
    const { phases } = await deliver(id);
    expect((phases.total_ms ?? 0) - (phases.first_byte_ms ?? 0)).toBeGreaterThanOrEqual(3 * PART);
  });

  it.each<[string, (socket: Socket) => void]>([
    ['together', (socket) => socket.write(`${no}${yes}`)],
    ['a moment later', (socket) => void socket.write(no, () => setTimeout(() => socket.write(yes), 30))],
    [
      'after a body that was longer than it said',
      (socket) => socket.write(no.replace('\r\n\r\n', `\r\n\r\nrest${yes}`)),
    ],
    [
      'after a 204 with a body',
      (socket) => socket.write(`HTTP/1.1 204 No\r\nContent-Length: ${yes.length}\r\n\r\n${yes}`),
    ],
  ])('is not answered by what was sent behind the answer before, %s', async (_when, poison) => {
    let requests = 0;
    const receiver = opened(
      await startRawReceiver((socket) =>
        socket.on('data', (data) => {
          if (!data.toString('latin1').startsWith('POST ')) return;
          requests += 1;
          if (requests === 1) poison(socket);
          else socket.write('HTTP/1.1 502 Second\r\nContent-Length: 0\r\n\r\n');
        }),
      ),
    );
    const { id } = await engine.subscribe({ url: `http://127.0.0.1:${receiver.port}/`, delaysMs: [HOUR] });
    const first = await deliver(id);
    expect([500, 204]).toContain(first.status_code);
    expect((await deliver(id)).status_code).toBe(502);
    expect(requests).toBe(2);
    expect(receiver.connections()).toBe(2);
  });

  it.each<[string, (socket: Socket) => void]>([
    ['no answer', () => undefined],
    ['an answer that drips', (socket) => drip(socket, 'HTTP/1.1 200 OK\r\n', 'X-Drip: 1\r\n')],
    ['a body that drips', (socket) => drip(socket, 'HTTP/1.1 500 No\r\n\r\n', 'x')],
  ])('ends after 15 s whatever comes: %s', async (_name, answer) => {
    const times: (number | undefined)[] = [];
    const deadlines = holdDeadlines();
    onTestFinished(deadlines.release);
    const receiver = opened(
      await startRawReceiver((socket) => {
        socket.once('data', () => {
          answer(socket);
          times.push(...deadlines.end());
        });
      }),
    );
    const { id } = await engine.subscribe({ url: `http://127.0.0.1:${receiver.port}/`, delaysMs: [HOUR] });
    await deliver(id);
    expect(times).toEqual([15_000]);
  });
});

const no = 'HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n';
const yes = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n';

function drip(socket: Socket, head: string, bytes: string): void {
  socket.write(head);
  const timer = setInterval(() => socket.write(bytes), 200);
  socket.on('close', () => clearInterval(timer));
}
