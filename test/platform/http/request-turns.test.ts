// Turns of requests: how many of a tenant are worked on beside those of others, and which wait for each other.
import { expect, it, onTestFinished } from 'vitest';
import type { Perform } from '../../../src/platform/http/handler.ts';
import { createRequestTurns } from '../../../src/platform/http/request-turns.ts';
import { defineRoute } from '../../../src/platform/http/route.ts';
import { tenantNamed } from './test-server.ts';

const CONNECTIONS = 10;
const LONG = ' '.repeat(20_000);

function open() {
  const state = { now: 0 };
  const pace = { slowness: 1 };
  const pauses: number[] = [];
  const turns = createRequestTurns({
    connections: CONNECTIONS,
    now: () => state.now,
    pause: async (milliseconds) => {
      pauses.push(milliseconds);
      await new Promise(setImmediate);
    },
    pace: { slowness: () => pace.slowness, watch: () => undefined },
  });
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  let unanswered = 0;
  const perform: Perform = (_, { tenant }) =>
    new Promise((resolve) => {
      begun.push(tenant.slug);
      ends.push(() => resolve({ status: 200 }));
    });
  const send = (
    slug: string,
    method: 'GET' | 'PATCH',
    path: string,
    place = path,
    socket = { destroyed: false },
  ) => {
    const route = defineRoute({
      method,
      path,
      operationId: 'x',
      summary: 'x',
      tag: 'x',
      scope: path.startsWith('/agents') ? 'agents:write' : null,
      responses: {},
      handler: () => ({ status: 200 }),
    });
    const ctx = { state: { path: place }, req: { socket } } as Parameters<Perform>[0];
    const context = { tenant: tenantNamed(slug) } as Parameters<Perform>[1];
    unanswered += 1;
    const answer = turns
      .bound(route, perform)(ctx, context)
      .finally(() => {
        unanswered -= 1;
      });
    answer.catch(() => undefined);
    return { answer };
  };
  /** How many requests of a tenant have begun. */
  const count = (slug: string) => begun.filter((one) => one === slug).length;
  const endOne = async () => {
    ends.shift()?.();
    for (let n = 0; n < 2; n += 1) await new Promise((resolve) => setImmediate(resolve));
  };
  // What still waits would be refused during another file.
  onTestFinished(async () => {
    while (unanswered > 0) await endOne();
  });
  return { turns, state, pace, pauses, send, count, endOne };
}

it('a tenant that is alone has many at work, beside another one few', async () => {
  const { state, send, count, endOne } = open();
  for (let n = 0; n < 50; n += 1) send('demo', 'GET', '/open');
  expect(count('demo')).toBe(50);
  send('acme', 'GET', '/open');
  expect(count('acme')).toBe(1);
  for (let n = 0; n < 20; n += 1) send('demo', 'GET', '/open');
  for (let n = 0; n < 20; n += 1) send('acme', 'GET', '/open');
  expect([count('demo'), count('acme')]).toEqual([50, 8]);
  for (let n = 0; n < 42; n += 1) await endOne();
  expect(count('demo')).toBe(50);
  await endOne();
  expect(count('demo')).toBe(51);
  state.now = 1_001;
  send('acme', 'GET', '/open');
  expect(count('acme')).toBe(9);
});

it('beside another tenant, one request of a tenant begins in each round of the event loop', async () => {
  const { turns, state } = open();
  const begun: string[] = [];
  const start = (slug: string | undefined) => {
    const wait = turns.start(slug);
    if (wait === undefined) begun.push(`${slug}`);
    else void wait.then(() => begun.push(`${slug}`));
  };
  for (let n = 0; n < 3; n += 1) start('demo');
  expect(begun).toEqual(['demo', 'demo', 'demo']);
  start('acme');
  for (const slug of [undefined, undefined, 'acme', 'demo', 'demo', 'demo']) start(slug);
  expect(begun.splice(0)).toEqual(['demo', 'demo', 'demo', 'acme', 'undefined', 'demo']);
  await new Promise(setImmediate);
  expect(begun.splice(0).sort()).toEqual(['acme', 'demo', 'undefined']);
  await new Promise(setImmediate);
  expect(begun.splice(0)).toEqual(['demo']);
  state.now = 1_001;
  for (let n = 0; n < 3; n += 1) start('demo');
  expect(begun).toEqual(['demo', 'demo', 'demo']);
});

it('a request in the queue is not worked on when its client has gone', async () => {
  const { send, count, endOne } = open();
  send('acme', 'GET', '/open');
  for (let n = 0; n < 8; n += 1) send('demo', 'GET', '/open');
  const socket = { destroyed: false };
  const left = [1, 2].map(() => send('demo', 'GET', '/open', '/open', socket));
  send('demo', 'GET', '/open');
  socket.destroyed = true;
  await Promise.all([
    ...left.map(({ answer }) => expect(answer).rejects.toThrow('has gone')),
    endOne(),
    endOne(),
  ]);
  for (let n = 0; n < 4; n += 1) await new Promise(setImmediate);
  expect(count('demo')).toBe(9);
});

it('a public document needs no turn', () => {
  const { send, count } = open();
  send('acme', 'GET', '/open');
  for (let n = 0; n < 20; n += 1) send('demo', 'GET', '/open');
  expect(count('demo')).toBe(8);
  send('demo', 'GET', '/.well-known/keys');
  expect(count('demo')).toBe(9);
});

it('changes of one resource run one after the other, and no tenant has more than half of the connections', async () => {
  const { send, count, endOne } = open();
  const path = '/agents/:id/keys/:key_id';
  send('demo', 'PATCH', path, '/agents/1/keys/1');
  send('demo', 'PATCH', path, '/agents/1/keys/2');
  expect(count('demo')).toBe(1);
  send('acme', 'PATCH', path, '/agents/1/keys/1');
  expect(count('acme')).toBe(1);
  send('demo', 'GET', path, '/agents/1/keys/1');
  for (const n of [2, 3, 4, 5, 6]) send('demo', 'PATCH', path, `/agents/${n}/keys/1`);
  expect(count('demo')).toBe(CONNECTIONS / 2);
  send('demo', 'GET', '/open');
  expect(count('demo')).toBe(CONNECTIONS / 2 + 1);
  await endOne();
  expect(count('demo')).toBe(CONNECTIONS / 2 + 2);
});

it('beside another tenant, pages of held requests are read one after the other, and alone by half of the connections', async () => {
  const { turns, send, count, state } = open();
  const route = defineRoute({
    method: 'GET',
    path: '/events',
    operationId: 'x',
    summary: 'x',
    tag: 'x',
    scope: 'events:read',
    holds: true,
    responses: {},
    handler: () => ({ status: 200 }),
  });
  const ctx = { state: { path: '/events' }, req: { socket: { destroyed: false } } } as Parameters<Perform>[0];
  const reading: (() => void)[] = [];
  let begun = 0;
  const read = () => {
    const context = { tenant: tenantNamed('demo') } as Parameters<Perform>[1];
    void turns.inTurn(route, ctx, context, () => {
      begun += 1;
      return new Promise<void>((resolve) => reading.push(resolve));
    });
  };
  const round = () => new Promise((resolve) => setImmediate(resolve));
  const endAll = async () => {
    for (; reading.length > 0; await round()) reading.shift()?.();
  };
  for (let n = 0; n < CONNECTIONS; n += 1) read();
  expect(begun).toBe(CONNECTIONS / 2);
  send('demo', 'PATCH', '/agents/:id', '/agents/1');
  expect(count('demo')).toBe(0);
  await endAll();
  expect(begun).toBe(CONNECTIONS);
  expect(count('demo')).toBe(1);
  send('acme', 'GET', '/open');
  for (let n = 0; n < 3; n += 1) read();
  expect(begun).toBe(CONNECTIONS + 1);
  reading.shift()?.();
  await round();
  await round();
  expect(begun).toBe(CONNECTIONS + 2);
  await endAll();
  await round();
  await endAll();
  expect(begun).toBe(CONNECTIONS + 3);
  state.now += 2_000;
});

it('beside another tenant, long bodies of one are parsed one after the other, with a pause', async () => {
  const { turns, state } = open();
  const parsed: string[] = [];
  function* steps(name: string): Generator<void, void, void> {
    state.now += 5;
    parsed.push(name);
    if (name.endsWith('long')) yield;
    parsed.push(`${name}.`);
  }
  const parse = (slug: string, name: string, body = LONG) =>
    turns.parse(slug, body.length, steps(`${slug} ${name}`));
  await Promise.all([parse('demo', 'a long'), parse('demo', 'b long')]);
  expect(parsed.splice(0)).toEqual(['demo a long', 'demo b long', 'demo a long.', 'demo b long.']);
  const all = [parse('demo', 'c long'), parse('acme', 'd'), parse('demo', 'e'), parse('acme', 'f')];
  void parse('demo', 'short', '{}');
  expect(parsed.splice(0)).toEqual(['demo c long', 'acme d', 'acme d.', 'demo short', 'demo short.']);
  await Promise.all(all);
  expect(parsed.splice(0).sort()).toEqual(['acme f', 'acme f.', 'demo c long.', 'demo e', 'demo e.']);
  state.now += 1_000;
  void parse('acme', 'h');
  void parse('acme', 'i');
  expect(parsed).toEqual(['acme h', 'acme h.', 'acme i', 'acme i.']);
});

it('beside another tenant, a tenant has the fewer at work the slower the event loop is', async () => {
  const { send, count, endOne, pace } = open();
  send('acme', 'GET', '/open');
  pace.slowness = 8;
  for (let n = 0; n < 20; n += 1) send('demo', 'GET', '/open');
  expect(count('demo')).toBe(1);
  pace.slowness = 3;
  for (let n = 0; n < 2; n += 1) await endOne();
  send('demo', 'GET', '/open');
  expect(count('demo')).toBe(3);
});

it('what a parser throws is the answer after a pause too, and the next body is parsed', async () => {
  const { turns, state, send, pauses } = open();
  send('acme', 'GET', '/open');
  // biome-ignore lint/correctness/useYield: it fails in its first step
  function* refuse(): Generator<void, void, void> {
    state.now += 5;
    throw new Error('no JSON');
  }
  function* accept(): Generator<void, string, void> {
    yield;
    return 'parsed';
  }
  await expect(turns.parse('demo', LONG.length, refuse())).rejects.toThrow('no JSON');
  expect(pauses).toEqual([5]);
  await expect(turns.parse('demo', LONG.length, accept())).resolves.toBe('parsed');
  expect(pauses).toEqual([5, 0, 0]);
});
