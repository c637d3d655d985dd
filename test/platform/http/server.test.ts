// What happens on the wire: requests that Node's parser refuses, slow clients, and an orderly end.
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineRoute, type Route } from '../../../src/platform/http/route.ts';
import { createHttpServer } from '../../../src/platform/http/server.ts';
import { ERROR_TYPE_BASE, startTestServer } from './test-server.ts';

const route = (path: string, method: 'GET' | 'POST', handler: () => Promise<void>): Route =>
  defineRoute({
    method,
    path,
    operationId: `${method}${path}`,
    summary: 'x',
    tag: 'Test',
    scope: null,
    ...(method === 'POST' ? { request: { body: z.looseObject({}) } } : {}),
    responses: { 200: { description: 'ok', schema: z.object({ ok: z.boolean() }) } },
    errors: [],
    handler: async () => {
      await handler();
      return { status: 200, body: { ok: true } };
    },
  });

/** Lets a test decide when the handler of /slow ends. */
function createGate() {
  let open: () => void = () => undefined;
  let arrived: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  const reached = new Promise<void>((resolve) => {
    arrived = resolve;
  });
  const pass = async () => {
    arrived();
    await opened;
  };
  return { open, reached, pass };
}

const plain = [route('/', 'GET', async () => undefined), route('/', 'POST', async () => undefined)];

/** Sends bytes as they are and reads until the server ends the connection. */
async function exchange(
  port: number,
  ...parts: string[]
): Promise<{ head: string; body: string; text: string }> {
  const socket = connect(port, '127.0.0.1');
  for (const part of parts) {
    socket.write(part, 'latin1');
    await delay(20);
  }
  const text = Buffer.concat(await socket.toArray()).toString('latin1');
  const [head = '', body = ''] = text.split('\r\n\r\n');
  return { head, body, text };
}

const server = await startTestServer(plain, {
  limits: { headers: 300, request: 600, checkEvery: 50, headerBytes: 4_096 },
});
afterAll(() => server.drain(0));

describe('requests of one connection', () => {
  it('are worked on one after the other, and answered in order', async () => {
    let atWork = 0;
    let most = 0;
    const work = async () => {
      atWork += 1;
      most = Math.max(most, atWork);
      await delay(1);
      atWork -= 1;
    };
    const slow = await startTestServer([
      route('/work', 'GET', work),
      route('/', 'POST', async () => undefined),
    ]);
    const get = (n: number) => `GET /work HTTP/1.1\r\nHost: x\r\nX-Request-Id: n${n}\r\n`;
    const post = 'POST / HTTP/1.1\r\nHost: x\r\nX-Request-Id: body\r\nContent-Type: application/json\r\n';
    const { text } = await exchange(
      slow.port,
      `${Array.from({ length: 40 }, (_, n) => `${get(n)}\r\n`).join('')}${post}Content-Length: 2\r\n\r\n`,
      `{}${get(40)}Connection: close\r\n\r\n`,
    );
    const ids = [...text.matchAll(/x-request-id: (\S+)/g)].map(([, id]) => id);
    expect(ids).toEqual([...Array.from({ length: 40 }, (_, n) => `n${n}`), 'body', 'n40']);
    expect(most).toBe(1);
    await slow.drain(0);
  });

  it('are read when those before them are answered, however many come', async () => {
    // Much shorter than the whole takes: a request of which a part has come waits for those before it, too.
    const limits = { headers: 500, request: 500, checkEvery: 10 };
    const slow = await startTestServer([route('/work', 'GET', () => delay(2))], { limits });
    const last = 'GET /work HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';
    const padding = `X: ${'x'.repeat(2_000)}\r\n`;
    const many = `GET /work HTTP/1.1\r\nHost: x\r\n${padding}\r\n`.repeat(700);
    const { text } = await exchange(slow.port, many + last);
    expect(text.match(/HTTP\/1\.1 200 /g)).toHaveLength(701);
    await slow.drain(0);
  });

  it('end it when the rest of one does not come after those before it', async () => {
    const limits = { headers: 50, request: 100, checkEvery: 10 };
    const slow = await startTestServer([route('/work', 'GET', () => delay(20))], { limits });
    const get = 'GET /work HTTP/1.1\r\nHost: x\r\n\r\n';
    const { text } = await exchange(slow.port, `${get.repeat(10)}GET /work HTTP/1.1\r\nHost:`);
    expect(text.match(/HTTP\/1\.1 \d{3} /g)).toEqual([
      ...Array<string>(10).fill('HTTP/1.1 200 '),
      'HTTP/1.1 408 ',
    ]);
    await slow.drain(0);
  });

  it('that are more than anybody needs end it, and nothing of them stays', async () => {
    const gate = createGate();
    const slow = await startTestServer([route('/work', 'GET', gate.pass)]);
    const socket = connect(slow.port, '127.0.0.1').on('error', () => undefined);
    socket.write('GET /work HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(1_500));
    await once(socket.resume(), 'close');
    gate.open();
    const { text } = await exchange(slow.port, 'GET /work HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    expect(text).toMatch(/^HTTP\/1\.1 200 /);
    await slow.drain(0);
  });
});

describe("what Node's parser refuses", () => {
  it.each([
    ['nonsense', 'hello\r\n\r\n', 400, 'invalid_request'],
    ['TLS', '\x16\x03\x01\x02\x00\x01\x00', 400, 'invalid_request'],
    ['a header without a colon', 'GET / HTTP/1.1\r\nHost: x\r\nbad header\r\n\r\n', 400, 'invalid_request'],
    [
      'length and chunks together',
      'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      400,
      'invalid_request',
    ],
    [
      'header fields that are too large',
      `GET / HTTP/1.1\r\nHost: x\r\nX: ${'a'.repeat(8_000)}\r\n\r\n`,
      431,
      'header_fields_too_large',
    ],
    [
      'too many header fields',
      `GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${'a:b\r\n'.repeat(199)}\r\n`,
      431,
      'header_fields_too_large',
    ],
    ['a head that does not end', 'GET / HTTP/1.1\r\nHost: x\r\n', 408, 'request_timeout'],
    [
      'a body that does not come',
      'POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 5\r\n\r\n{',
      408,
      'request_timeout',
    ],
  ])('%s is a problem with a request id', async (_what, text, status, code) => {
    const { head, body } = await exchange(server.port, text);
    const [line, ...headers] = head.toLowerCase().split('\r\n');
    expect(line).toMatch(new RegExp(`^http/1.1 ${status} `));
    const problem = JSON.parse(body);
    expect(problem).toMatchObject({
      status,
      error: code,
      type: `${ERROR_TYPE_BASE}/${code.replaceAll('_', '-')}`,
    });
    expect(Object.keys(problem)).toEqual(
      expect.arrayContaining(['title', 'detail', 'error_description', 'request_id']),
    );
    expect(headers).toContain(`x-request-id: ${problem.request_id}`);
    expect(headers).toContain('content-type: application/problem+json');
    expect(headers).toContain(`content-length: ${body.length}`);
    expect(headers).toContain('connection: close');
  });

  it('keeps the request id that was sent', async () => {
    const { head } = await exchange(
      server.port,
      'GET / HTTP/1.1\r\nX-Request-Id: mine\r\nbad header\r\n\r\n',
    );
    expect(head).toContain('x-request-id: mine');
  });

  it('is answered after the answer before it on the same connection', async () => {
    const { text } = await exchange(server.port, 'GET / HTTP/1.1\r\nHost: x\r\n\r\n', 'nonsense\r\n\r\n');
    expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 400']);
  });
});

describe('CONNECT', () => {
  it('is refused as a problem with the request id that was sent', async () => {
    const { head, body } = await exchange(
      server.port,
      'CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\nX-Request-Id: mine\r\n\r\n',
    );
    expect(head).toMatch(/^HTTP\/1\.1 405 Method Not Allowed\r\n/);
    expect(head).toMatch(/\r\nx-request-id: mine(\r\n|$)/);
    expect(head).toMatch(/\r\nallow: GET, /);
    expect(JSON.parse(body)).toMatchObject({ status: 405, error: 'method_not_allowed', request_id: 'mine' });
  });

  it('waits for the answer before it', async () => {
    const { text } = await exchange(
      server.port,
      'GET / HTTP/1.1\r\nHost: x\r\n\r\nCONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n',
    );
    expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 405']);
  });
});

describe('what Node would answer by itself', () => {
  it.each([
    ['a missing Host', 'GET / HTTP/1.1\r\nConnection: close\r\n\r\n', 400],
    ['a strange expectation', 'GET / HTTP/1.1\r\nHost: x\r\nExpect: tea\r\nConnection: close\r\n\r\n', 200],
    ['an upgrade', 'GET / HTTP/1.1\r\nHost: x\r\nUpgrade: h2c\r\nConnection: upgrade, close\r\n\r\n', 200],
    ['an unknown method', 'PROPFIND / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n', 405],
    ['a target that is no path', 'OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n', 404],
    ['an absolute target', 'GET http://x/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n', 200],
    ['a malformed absolute target', 'GET http://[::/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n', 400],
    ['HTTP/1.0', 'GET / HTTP/1.0\r\n\r\n', 200],
  ])('%s has a request id', async (_what, text, status) => {
    const { head } = await exchange(server.port, text);
    expect(head).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(head).toMatch(/x-request-id: \S+/i);
  });

  it('asks for the body of a client that waits for 100', async () => {
    const { text } = await exchange(
      server.port,
      'POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n',
      '{}',
    );
    expect(text).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 /);
  });
});

describe('host and target (RFC 9112 §3.2)', () => {
  const ask = async (lines: string) => {
    const { head, body } = await exchange(server.port, `${lines}\r\nConnection: close\r\n\r\n`);
    return { status: Number(head.slice(9, 12)), requestId: /x-request-id: (\S+)/i.exec(head)?.[1], body };
  };

  it.each([
    ['two Host headers', 'GET / HTTP/1.1\r\nHost: x\r\nhost: y', 'more than one Host'],
    ['two equal Host headers', 'GET / HTTP/1.1\r\nHost: x\r\nHost: x', 'more than one Host'],
    ['two Host headers in HTTP/1.0', 'GET / HTTP/1.0\r\nHost: x\r\nHost: y', 'more than one Host'],
    ['an empty Host', 'GET / HTTP/1.1\r\nHost:', 'no host'],
    ['a list of hosts', 'GET / HTTP/1.1\r\nHost: x, y', 'no host'],
    ['a Host with a user', 'GET / HTTP/1.1\r\nHost: a@x', 'no host'],
    ['a Host with a path', 'GET / HTTP/1.1\r\nHost: x/y', 'no host'],
    ['a Host with a port that is no number', 'GET / HTTP/1.1\r\nHost: x:8o', 'no host'],
    ['a Host with half an IPv6 address', 'GET / HTTP/1.1\r\nHost: [::1', 'no host'],
    ['a Host with a foreign byte', 'GET / HTTP/1.1\r\nHost: \xfc', 'no host'],
    ['a missing Host beside an absolute target', 'GET http://x/ HTTP/1.1', 'missing'],
    ['an asterisk for a method that has none', 'GET * HTTP/1.1\r\nHost: x', 'neither a path nor'],
    ['an authority for another method than CONNECT', 'GET x:80 HTTP/1.1\r\nHost: x', ''],
    ['a target that begins with a name', 'GET healthz HTTP/1.1\r\nHost: x', ''],
    ['an absolute target without a host', 'GET http:///healthz HTTP/1.1\r\nHost: x', ''],
    ['an absolute target with a user', 'GET http://a@x/ HTTP/1.1\r\nHost: x', 'neither a path nor'],
    ['an absolute target of another scheme', 'GET ftp://x/ HTTP/1.1\r\nHost: x', 'neither a path nor'],
    ['a fragment', 'GET /#a HTTP/1.1\r\nHost: x', 'escaped'],
    ['a foreign byte in the path', 'GET /\xe9 HTTP/1.1\r\nHost: x', ''],
    ['a foreign byte in the query', 'GET /?a=\xe9 HTTP/1.1\r\nHost: x', ''],
    ['a quotation mark in the path', 'GET /"a HTTP/1.1\r\nHost: x', 'escaped'],
    ['a backslash in the path', 'GET /\\a HTTP/1.1\r\nHost: x', 'escaped'],
    ['a space in the target', 'GET /a b HTTP/1.1\r\nHost: x', ''],
    ['a control character in the target', 'GET /\x01 HTTP/1.1\r\nHost: x', ''],
  ])('%s is 400', async (_what, lines, detail) => {
    const { status, requestId, body } = await ask(lines);
    expect(status).toBe(400);
    const problem = JSON.parse(body);
    expect(problem).toMatchObject({ status: 400, error: 'invalid_request', request_id: requestId });
    expect(problem.detail).toContain(detail);
  });

  it.each([
    ['a name with a port', 'GET / HTTP/1.1\r\nHost: api.example.com:8080'],
    ['an IPv6 address', 'GET / HTTP/1.1\r\nHost: [::1]:8080'],
    ['a name with an underscore', 'GET / HTTP/1.1\r\nHost: my_api'],
    ['an absolute target with a query and without a path', 'GET http://x?a HTTP/1.1\r\nHost: x'],
    ['an https target', 'GET HTTPS://x/ HTTP/1.1\r\nHost: x'],
  ])('%s is taken', async (_what, lines) => {
    expect((await ask(lines)).status).toBeLessThan(401);
    expect((await ask(lines)).body).not.toContain('request target');
  });

  it('takes the tenant of the host in an absolute target, whatever Host says', async () => {
    const hosts = await startTestServer(
      [
        defineRoute({
          method: 'GET',
          path: '/who',
          operationId: 'who',
          summary: 'x',
          tag: 'Test',
          scope: null,
          responses: { 200: { description: 'ok', schema: z.object({ slug: z.string() }) } },
          errors: [],
          handler: async ({ context }) => ({ status: 200, body: { slug: context.tenant.slug } }),
        }),
      ],
      { config: { tenantUrl: 'http://{tenant}.example.com' } },
    );
    const { body } = await exchange(
      hosts.port,
      'GET http://acme.example.com/who HTTP/1.1\r\nHost: unknown.example.com\r\nConnection: close\r\n\r\n',
    );
    expect(JSON.parse(body)).toEqual({ slug: 'acme' });
    await hosts.drain(0);
  });
});

describe('drain', () => {
  it('lets an answer under way end, closes its connection, and takes no new one', async () => {
    const gate = createGate();
    const slow = await startTestServer([route('/slow', 'GET', gate.pass)]);
    const answer = fetch(`${slow.origin}/slow`);
    await gate.reached;
    const drained = slow.drain(5_000);
    await expect(fetch(`${slow.origin}/slow`)).rejects.toThrow();
    gate.open();
    const response = await answer;
    expect(response.headers.get('connection')).toBe('close');
    expect(await response.json()).toEqual({ ok: true });
    await drained;
  });

  it('closes connections that only idle, and waits for none of them', async () => {
    const idle = await startTestServer(plain);
    const socket = connect(idle.port, '127.0.0.1');
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await new Promise((resolve) => socket.once('data', resolve));
    // A drain that waited for its deadline would outlast the case.
    const [[hadError]] = await Promise.all([once(socket, 'close'), idle.drain(600_000)]);
    expect(hadError).toBe(false);
  });

  it('answers what comes on connections that idle until it lingers no more, and closes each by its answer', async () => {
    const idle = await startTestServer(plain);
    const gateway = await hold(idle.port);
    await gateway.ask();
    // A drain that waited for either time would outlast the case.
    const drained = idle.drain(600_000, 600_000);
    expect(await gateway.ask()).toMatch(/^HTTP\/1\.1 200 [\s\S]*connection: close/i);
    await Promise.all([gateway.closed, drained]);
    await expect(fetch(idle.origin)).rejects.toThrow();
  });

  it('closes what still idles when it has lingered', async () => {
    const idle = await startTestServer(plain);
    const gateway = await hold(idle.port);
    await gateway.ask();
    await Promise.all([idle.drain(600_000, 1), gateway.closed]);
  });

  it('cuts what does not end by the deadline', async () => {
    const gate = createGate();
    const stuck = await startTestServer([route('/slow', 'GET', gate.pass)]);
    const answer = fetch(`${stuck.origin}/slow`).catch(() => 'cut');
    await gate.reached;
    await stuck.drain(100);
    expect(await answer).toBe('cut');
    gate.open();
  });
});

/** A connection that is held open, as a gateway does. */
async function hold(port: number) {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  const closed = once(socket, 'close');
  return {
    closed,
    ask: async () => {
      socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
      const [answer] = await Promise.race([once(socket, 'data'), closed]);
      return String(answer);
    },
  };
}

describe('listening', () => {
  it('rejects when the port is taken', async () => {
    const other = createHttpServer({ callback: () => () => undefined } as never, {
      errorTypeBase: ERROR_TYPE_BASE,
    });
    await expect(other.listen({ port: server.port, host: '127.0.0.1' })).rejects.toMatchObject({
      code: 'EADDRINUSE',
    });
  });
});
