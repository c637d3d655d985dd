// Fetching key sets from servers that mean well, and from those that do not.
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { createJwksFetcher, JwksError } from '../../../src/authentication/trusted-issuers/jwks.client.ts';
import { createGuardedAgent } from '../../../src/platform/egress/guarded-agent.client.ts';
import { PATIENCE } from '../../setup/patience.ts';
import {
  AUTHORITY_FILE,
  startRawReceiver,
  startSecureReceiver,
} from '../../webhooks/receiver/local-receiver.ts';
import { answerKeys, type Handler, newKey, startJwksServer } from './identity-provider.ts';

const open: { close(): Promise<unknown> }[] = [];
afterEach(async () => {
  for (const part of open.splice(0)) await part.close();
});
const opened = <T extends { close(): Promise<unknown> }>(part: T): T => {
  open.push(part);
  return part;
};
const fetcher = (
  options: Parameters<typeof createGuardedAgent>[0] = {},
  deadline: number = PATIENCE.timeout,
) =>
  createJwksFetcher({
    agent: opened(createGuardedAgent({ allowedNetworks: ['127.0.0.0/8'], ...options })),
    deadline,
  });
const serve = async (handler: Handler) => opened(await startJwksServer(handler));
const failure = async (work: Promise<unknown>) => {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(JwksError);
  return (error as JwksError).message;
};

describe('a key set', () => {
  it('is fetched with its freshness', async () => {
    const { jwk } = await newKey();
    let accept: string | undefined;
    const { uri } = await serve((request, response) => {
      accept = request.headers.accept;
      answerKeys([jwk], { 'cache-control': 'max-age=120' })(request, response);
    });
    expect(await fetcher()(uri)).toEqual({ keys: [jwk], freshness: 120_000 });
    expect(accept).toContain('application/jwk-set+json');
  });

  it('is fetched over TLS, by the name in the certificate', async () => {
    const { jwk } = await newKey();
    const { port } = opened(await startSecureReceiver(answerKeys([jwk])));
    const uri = `https://receiver.test:${port}/jwks`;
    const lookup = async () => ['127.0.0.1'];
    expect((await fetcher({ lookup, caFile: AUTHORITY_FILE })(uri)).keys).toEqual([jwk]);
    expect(await failure(fetcher({ lookup })(uri))).toContain('no answer');
  });

  it('just within 64 KiB is read, one byte more is not', async () => {
    const body = (length: number) => `{"keys":[]${' '.repeat(length - 11)}}`;
    const server = await serve((_request, response) => {
      response.setHeader('content-type', 'application/json');
      response.end(body(64 * 1024));
    });
    expect((await fetcher()(server.uri)).keys).toEqual([]);
    server.handler = (_request, response) => {
      response.setHeader('content-type', 'application/json');
      response.end(body(64 * 1024 + 1));
    };
    expect(await failure(fetcher()(server.uri))).toContain('larger');
  });
});

describe('a key set that is served', () => {
  it.each([
    'application/json; charset=utf-8',
    'application/jwk-set+json',
    'application/octet-stream',
    'binary/octet-stream',
    'text/plain',
    undefined,
  ])('as %s is taken, because its content decides', async (type) => {
    const { jwk } = await newKey();
    const { uri } = await serve((_request, response) => {
      response.writeHead(200, type === undefined ? {} : { 'content-type': type });
      response.end(JSON.stringify({ keys: [jwk] }));
    });
    expect((await fetcher()(uri)).keys).toEqual([jwk]);
  });
});

describe('a hostile server', () => {
  const json = { 'content-type': 'application/json' };
  it.each<[string, Handler, string]>([
    [
      'redirects',
      (_q, r) => r.writeHead(302, { ...json, location: 'http://127.0.0.1:1/' }).end('{"keys":[]}'),
      '302',
    ],
    ['fails', (_q, r) => r.writeHead(500, json).end('{"keys":[]}'), '500'],
    ['has nothing', (_q, r) => r.writeHead(204).end(), '204'],
    [
      'answers with a page',
      (_q, r) => r.writeHead(200, { 'content-type': 'text/html' }).end('<html>'),
      'JSON',
    ],
    [
      'compresses unasked',
      (_q, r) => r.writeHead(200, { ...json, 'content-encoding': 'gzip' }).end(gzipSync('{"keys":[]}')),
      'compressed',
    ],
    ['answers with no JSON', (_q, r) => r.writeHead(200, json).end('{"keys":['), 'JSON'],
    [
      'answers with no UTF-8',
      (_q, r) => r.writeHead(200, json).end(Buffer.from([0x22, 0xff, 0x22])),
      'UTF-8',
    ],
    ['answers with no set', (_q, r) => r.writeHead(200, json).end('[]'), 'JWK set'],
    ['hangs up', (_q, r) => r.destroy(), 'no answer'],
    ['never answers', () => undefined, 'in time'],
    ['never ends', (_q, r) => void r.writeHead(200, json).write('{'), 'in time'],
    [
      'breaks off',
      (_q, r) => void r.writeHead(200, { ...json, 'content-length': '50' }).write('{}', () => r.destroy()),
      'no answer',
    ],
  ])('that %s gives no keys', async (_name, handler, message) => {
    const { uri } = await serve(handler);
    expect(await failure(fetcher({}, 400)(uri))).toContain(message);
  });

  it('that sends for ever is left after 64 KiB', async () => {
    let sent = 0;
    const { uri } = await serve((_request, response) => {
      response.writeHead(200, json);
      const more = () => {
        while (!response.destroyed && response.write(Buffer.alloc(16_384, 0x20))) sent += 16_384;
      };
      response.on('drain', more);
      more();
    });
    expect(await failure(fetcher()(uri))).toContain('larger');
    expect(sent).toBeLessThan(50_000_000);
  });

  it('that drips its head is left at the deadline', async () => {
    const { port } = opened(
      await startRawReceiver((socket) => {
        socket.write('HTTP/1.1 200 OK\r\nx-slow: ');
        const timer = setInterval(() => socket.write('H'), 50);
        socket.on('close', () => clearInterval(timer));
      }),
    );
    expect(await failure(fetcher({}, 400)(`http://127.0.0.1:${port}/`))).toContain('in time');
  });
});

describe('an address inside the network', () => {
  it.each([
    'http://127.0.0.1:8080/jwks',
    'https://127.0.0.1/jwks',
    'http://idp.example/jwks',
    'https://169.254.169.254/',
  ])('%s is not asked, unless admitted', async (uri) => {
    expect(await failure(fetcher({ allowedNetworks: [] })(uri))).toContain('the address');
  });

  it('is not asked behind a public name either', async () => {
    const { jwk } = await newKey();
    const receiver = opened(await startSecureReceiver(answerKeys([jwk])));
    const uri = `https://receiver.test:${receiver.port}/jwks`;
    const lookup = async () => ['127.0.0.1'];
    expect(await failure(fetcher({ allowedNetworks: [], lookup, caFile: AUTHORITY_FILE })(uri))).toContain(
      'no answer',
    );
    expect(receiver.connections()).toBe(0);
  });
});
