// Every adapter over real connections and one table: what is read, what is refused, and what a body parser before it
// does.
import { once } from 'node:events';
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { Readable } from 'node:stream';
import Koa from 'koa';
import { afterEach, describe, expect, it } from 'vitest';
import {
  createExpressReceiver,
  createFetchReceiver,
  createKoaReceiver,
  createMemoryDeliveryLog,
  RawBodyMissing,
  type ReceivedDelivery,
  type ReceiverOptions,
  RetryLater,
} from '../../../packages/receiver/src/index.ts';
import { SECRET, signedDelivery } from './delivery-request.ts';

type Listener = (request: IncomingMessage, response: ServerResponse) => unknown;

const closes: (() => void)[] = [];
afterEach(() => {
  for (const close of closes.splice(0)) close();
});

async function listen(listener: Listener): Promise<number> {
  const server = createServer((request, response) => void listener(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closes.push(() => {
    server.close();
    server.closeAllConnections();
  });
  return (server.address() as AddressInfo).port;
}

/** As the runtimes with fetch-style handlers do it: a web request whose body is a stream. */
function serveFetch(handle: (request: Request) => Promise<Response>): Listener {
  return (incoming, response) => {
    const { method = '', headers } = incoming;
    const body = method === 'GET' || method === 'HEAD' ? null : Readable.toWeb(incoming);
    const init = { method, headers: headers as Record<string, string>, body, duplex: 'half' };
    handle(new Request('http://receiver.test/', init as RequestInit)).then(
      async (answer) => {
        response.writeHead(answer.status, Object.fromEntries(answer.headers));
        response.end(await answer.text());
      },
      () => response.writeHead(500).end(),
    );
  };
}

const ADAPTERS: Record<string, (options: ReceiverOptions) => Listener> = {
  Koa: (options) => {
    const app = new Koa();
    app.silent = true;
    app.use(createKoaReceiver(options));
    return app.callback();
  },
  Express: (options) => {
    const receive = createExpressReceiver(options);
    return (request, response) => void receive(request, response);
  },
  fetch: (options) => serveFetch(createFetchReceiver(options)),
};

async function start(adapter: string, changes: Partial<ReceiverOptions> = {}) {
  const handled: ReceivedDelivery[] = [];
  const log = createMemoryDeliveryLog();
  const handler = (delivery: ReceivedDelivery) => void handled.push(delivery);
  const make = ADAPTERS[adapter] ?? (() => () => undefined);
  const port = await listen(make({ secrets: SECRET, log, handler, onError: () => undefined, ...changes }));
  return { port, handled, log };
}

type Answer = { status: number; headers: IncomingMessage['headers']; body: string };

/** In one piece with its length, or chunk by chunk without. */
function send(
  port: number,
  { method = 'POST', headers, body }: { method?: string; headers: Record<string, string>; body: Uint8Array },
  { chunked = false } = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const length = chunked ? {} : { 'content-length': String(body.length) };
    const options = { host: '127.0.0.1', port, method, headers: { ...headers, ...length }, agent: false };
    const outgoing = httpRequest(options, (incoming) => {
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
      incoming.on('end', () =>
        resolve({
          status: incoming.statusCode ?? 0,
          headers: incoming.headers,
          body: Buffer.concat(chunks).toString(),
        }),
      );
    });
    outgoing.on('error', reject);
    if (chunked)
      for (let at = 0; at < body.length; at += 16_384) outgoing.write(body.subarray(at, at + 16_384));
    outgoing.end(chunked ? undefined : body);
  });
}

/** Opens a connection and sends the head of a genuine request; `said` is the first that comes back. */
function talk(port: number, changes: Record<string, string>) {
  const lines = Object.entries({ ...signedDelivery().headers, ...changes }).map(([k, v]) => `${k}: ${v}\r\n`);
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined);
  socket.write(`POST / HTTP/1.1\r\nhost: r\r\n${lines.join('')}\r\n`);
  const said = new Promise<string>((resolve) => socket.once('data', (data) => resolve(String(data))));
  return { socket, said };
}

describe.each(Object.keys(ADAPTERS))('the adapter for %s', (adapter) => {
  it('reads the raw bytes, in one piece or in chunks, and answers what the core says', async () => {
    const { port, handled } = await start(adapter);
    const body = JSON.stringify({ event_id: 'e', text: 'ü'.repeat(100_000) });
    for (const chunked of [false, true]) {
      const answer = await send(port, signedDelivery({ body }), { chunked });
      expect(answer).toMatchObject({ status: 200, body: '{"status":"processed"}' });
      expect(answer.headers['content-type']).toBe('application/json');
    }
    expect(handled.map(({ body: bytes }) => new TextDecoder().decode(bytes))).toEqual([body, body]);
  });

  it('refuses other methods with Allow, other types, an empty body and another body', async () => {
    const { port, handled } = await start(adapter);
    const delivery = signedDelivery();
    for (const method of ['GET', 'PUT', 'DELETE', 'PATCH']) {
      const answer = await send(port, { ...delivery, method, body: new Uint8Array() });
      expect(answer).toMatchObject({ status: 405, headers: { allow: 'POST' } });
    }
    const form = { ...delivery.headers, 'content-type': 'application/x-www-form-urlencoded' };
    expect((await send(port, { ...delivery, headers: form })).status).toBe(401);
    expect((await send(port, { ...delivery, body: new Uint8Array() })).status).toBe(401);
    expect((await send(port, { ...delivery, body: Buffer.from('{}') })).status).toBe(401);
    expect(handled).toEqual([]);
  });

  it('takes a body up to its limit and not a byte more, announced or not', async () => {
    const limit = 70_000;
    const { port, handled } = await start(adapter, { maxBodyBytes: limit });
    const sized = (bytes: number) => signedDelivery({ body: `"${'x'.repeat(bytes - 2)}"` });
    for (const chunked of [false, true]) {
      expect((await send(port, sized(limit), { chunked })).status).toBe(200);
      expect(await send(port, sized(limit + 1), { chunked })).toMatchObject({
        status: 401,
        body: '{"error":"body_too_large"}',
      });
    }
    expect(handled).toHaveLength(2);
  });

  it('refuses an announced length before the body is there', async () => {
    const { port } = await start(adapter);
    const { said } = talk(port, { 'content-length': '300000' });
    expect(await said).toMatch(/^HTTP\/1\.1 401 /);
    if (adapter !== 'fetch') expect(await said).toMatch(/\r\nconnection: close\r\n/i);
  });

  it('refuses an endless body after its limit', async () => {
    const { port } = await start(adapter);
    const { socket, said } = talk(port, { 'transfer-encoding': 'chunked' });
    const chunk = `4000\r\n${'x'.repeat(0x4000)}\r\n`;
    const timer = setInterval(() => socket.writable && socket.write(chunk), 1);
    expect(await said).toMatch(/^HTTP\/1\.1 401 /);
    clearInterval(timer);
    socket.destroy();
  });

  it('answers with Retry-After when the handler asks for it', async () => {
    const { port } = await start(adapter, { handler: () => Promise.reject(new RetryLater(30)) });
    expect(await send(port, signedDelivery())).toMatchObject({
      status: 503,
      headers: { 'retry-after': '30' },
    });
  });

  it('answers only after the handler has finished', async () => {
    const order: string[] = [];
    const handler = async () => {
      await new Promise((resolve) => setTimeout(resolve, 100));
      order.push('handled');
    };
    const { port } = await start(adapter, { handler });
    await send(port, signedDelivery());
    order.push('answered');
    expect(order).toEqual(['handled', 'answered']);
  });

  it('does nothing about a body that breaks off', async () => {
    const { port, handled, log } = await start(adapter);
    const { socket } = talk(port, { 'content-length': '100' });
    await new Promise((resolve) => socket.write('{"ev', resolve));
    const gone = once(socket, 'close');
    socket.destroy();
    await gone;
    expect((await send(port, signedDelivery())).status).toBe(200);
    expect([handled.length, log.records().length]).toEqual([1, 1]);
  });

  it('cannot be made without a secret', () => {
    for (const secrets of ['', [], ['']]) {
      expect(() => ADAPTERS[adapter]?.({ secrets, log: createMemoryDeliveryLog() })).toThrow(TypeError);
    }
  });
});

describe('a request that is gone', () => {
  const options = { secrets: SECRET, log: createMemoryDeliveryLog() };

  it.each([
    [
      'before it is read',
      (request: IncomingMessage, receive: () => Promise<void>) => {
        request.destroy();
        return new Promise((resolve) => request.once('close', resolve)).then(receive);
      },
    ],
    [
      'while it is read, without an error',
      (request: IncomingMessage, receive: () => Promise<void>) => {
        setTimeout(() => request.destroy(), 50);
        return receive();
      },
    ],
  ])('%s keeps nobody waiting', async (_when, handle) => {
    let ended: () => void = () => undefined;
    const end = new Promise<void>((resolve) => {
      ended = resolve;
    });
    const receive = createExpressReceiver(options);
    const port = await listen((request, response) =>
      handle(request, () => receive(request, response)).then(ended),
    );
    talk(port, { 'content-length': '100' });
    await end;
    expect(options.log.records()).toEqual([]);
  });
});

it('a web request without a body is refused like one with another', async () => {
  const { headers } = signedDelivery();
  const receive = createFetchReceiver({ secrets: SECRET, log: createMemoryDeliveryLog() });
  expect((await receive(new Request('http://r.test/', { method: 'POST', headers }))).status).toBe(401);
});

describe('a body parser that ran before', () => {
  const options = { secrets: SECRET, log: createMemoryDeliveryLog(), handler: () => undefined };

  /** What the body parsers of Express do: they read the request to its end and put what they made of it into `body`. */
  const parse = (request: IncomingMessage, make: (bytes: Buffer) => unknown) =>
    new Promise<IncomingMessage & { body: unknown }>((resolve) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => resolve(Object.assign(request, { body: make(Buffer.concat(chunks)) })));
    });

  it('in Express is told to the next error handler, with what to do about it', async () => {
    const errors: unknown[] = [];
    const receive = createExpressReceiver(options);
    const port = await listen(async (request, response) => {
      const parsed = await parse(request, (bytes) => JSON.parse(bytes.toString()));
      await receive(parsed, response, (error) => {
        errors.push(error);
        response.writeHead(500).end();
      });
    });
    expect((await send(port, signedDelivery())).status).toBe(500);
    expect(errors).toEqual([expect.any(RawBodyMissing)]);
    expect(String(errors[0])).toMatch(/Mount the receiver before every body parser \(express\.json\(\)/);
  });

  it('in Express may keep the raw bytes, which are then verified', async () => {
    const receive = createExpressReceiver(options);
    const port = await listen(async (request, response) => {
      await receive(await parse(request, (bytes) => bytes), response);
    });
    expect((await send(port, signedDelivery())).status).toBe(200);
    expect((await send(port, { ...signedDelivery(), body: Buffer.from('{}') })).status).toBe(401);
  });

  it('in Express may leave the raw bytes beside what it parsed, as Firebase and NestJS do', async () => {
    const receive = createExpressReceiver({ ...options, maxBodyBytes: 100 });
    const port = await listen(async (request, response) => {
      let rawBody: unknown;
      const parsed = await parse(request, (bytes) => {
        rawBody = bytes;
        return JSON.parse(bytes.toString());
      });
      await receive(Object.assign(parsed, { rawBody }), response);
    });
    expect((await send(port, signedDelivery())).status).toBe(200);
    expect((await send(port, { ...signedDelivery(), body: Buffer.from('{}') })).status).toBe(401);
    expect(await send(port, signedDelivery({ body: `"${'x'.repeat(99)}"` }))).toMatchObject({
      body: '{"error":"body_too_large"}',
    });
  });

  it('on a bare server is answered with 500 and reported', async () => {
    const errors: unknown[] = [];
    const receive = createExpressReceiver({ ...options, onError: (error) => errors.push(error) });
    const port = await listen(async (request, response) => {
      await receive(await parse(request, String), response);
    });
    expect((await send(port, signedDelivery())).status).toBe(500);
    expect(errors).toEqual([expect.any(RawBodyMissing)]);
  });

  it('in Koa becomes an error of the application', async () => {
    const app = new Koa();
    const errors: unknown[] = [];
    app.on('error', (error) => errors.push(error));
    app.use(async (context, next) => {
      await parse(context.req, String);
      await next();
    });
    app.use(createKoaReceiver(options));
    const port = await listen(app.callback());
    expect((await send(port, signedDelivery())).status).toBe(500);
    expect(errors).toEqual([expect.any(RawBodyMissing)]);
  });

  it('in a fetch-style handler rejects', async () => {
    const { headers, body } = signedDelivery();
    const request = new Request('http://receiver.test/', {
      method: 'POST',
      headers,
      body: Buffer.from(body),
    });
    await request.text();
    await expect(createFetchReceiver(options)(request)).rejects.toThrow(RawBodyMissing);
  });
});
