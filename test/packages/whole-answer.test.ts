// Requests of packages and commands end in time, also where `fetch` forgets its signal, as that of Node can.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createServiceClient } from '../../packages/agent/src/service-client.ts';
import * as ofAgents from '../../packages/agent/src/whole-answer.ts';
import { createIssuerClient } from '../../packages/resource-server/src/client.ts';
import { requestFeed } from '../../packages/resource-server/src/feed-stream.ts';
import { createIssuerKeys } from '../../packages/resource-server/src/issuer-keys.ts';
import * as ofServers from '../../packages/resource-server/src/whole-answer.ts';
import { PATIENCE } from '../setup/patience.ts';

const URL = 'https://issuer.test';

/** A body that begins and never ends; `cancelled` counts those that nobody waits for any more. */
function createStalling(status = 200) {
  let cancelled = 0;
  const fetch: typeof globalThis.fetch = async () => {
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(new TextEncoder().encode('{"half":')),
      cancel: () => {
        cancelled += 1;
      },
    });
    return new Response(body, { status, headers: { 'content-type': 'application/json' } });
  };
  return { fetch, cancelled: () => cancelled };
}

const silent: typeof globalThis.fetch = () => new Promise(() => undefined);

describe.each([
  ['a guard', ofServers.fetchWhole],
  ['an agent', ofAgents.fetchWhole],
])('a whole answer of %s', (_, fetchWhole) => {
  it('has the status, the fields and the body', async () => {
    const fetch: typeof globalThis.fetch = async () =>
      Response.json({ ü: 1 }, { status: 404, headers: { a: 'b' } });
    const answer = await fetchWhole(fetch, URL, {}, 1_000);
    expect([answer.status, answer.headers.get('a'), await answer.json()]).toEqual([404, 'b', { ü: 1 }]);
  });

  it('may have no body', async () => {
    const answer = await fetchWhole(async () => new Response(null, { status: 204 }), URL, {}, 1_000);
    expect([answer.status, await answer.text()]).toEqual([204, '']);
  });

  it('is not waited for longer than it may take, and its body is not read on', async () => {
    const { fetch, cancelled } = createStalling();
    await expect(fetchWhole(fetch, URL, {}, 5)).rejects.toMatchObject({ name: 'TimeoutError' });
    expect(cancelled()).toBe(1);
    await expect(fetchWhole(silent, URL, {}, 5)).rejects.toMatchObject({ name: 'TimeoutError' });
  });

  it('is not read when its headers come too late', async () => {
    const { fetch, cancelled } = createStalling();
    let open: (() => void) | undefined;
    const late: typeof globalThis.fetch = async (...given) => {
      await new Promise<void>((resolve) => {
        open = resolve;
      });
      return fetch(...given);
    };
    await expect(fetchWhole(late, URL, {}, 5)).rejects.toMatchObject({ name: 'TimeoutError' });
    open?.();
    await vi.waitUntil(() => cancelled() === 1, PATIENCE);
  });

  it('ends with the signal of the caller', async () => {
    const { fetch, cancelled } = createStalling();
    const closing = new AbortController();
    const asked = fetchWhole(fetch, URL, { signal: closing.signal }, 60_000);
    closing.abort(new Error('enough'));
    await expect(asked).rejects.toThrow('enough');
    await vi.waitUntil(() => cancelled() === 1, PATIENCE);
    await expect(fetchWhole(fetch, URL, { signal: closing.signal }, 60_000)).rejects.toThrow('enough');
  });

  it('fails as fetch fails', async () => {
    await expect(fetchWhole(() => Promise.reject(new TypeError('away')), URL, {}, 1_000)).rejects.toThrow(
      'away',
    );
  });
});

describe('a server that sends half an answer', () => {
  let server: Server;
  let url: string;
  let ended: Promise<void>;
  beforeEach(async () => {
    server = createServer((_, response) => {
      ended = new Promise((resolve) => response.once('close', resolve));
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': 20 });
      response.write('{"half":');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  });
  afterEach(() => new Promise((resolve) => server.close(resolve)));

  it('is left, with its connection', async () => {
    await expect(ofServers.fetchWhole(fetch, url, {}, 100)).rejects.toMatchObject({ name: 'TimeoutError' });
    await ended;
  });
});

describe('in time ends', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });
  const credentials = { clientId: 'a', clientSecret: 'b' };
  const cases: [string, number, (fetch: typeof globalThis.fetch) => Promise<unknown>][] = [
    [
      'a request for a token, or an introspection',
      5_000,
      (fetch) =>
        createIssuerClient({ issuer: URL, credentials, fetch, now: Date.now, elapsed: () => 0 }).post(
          '/',
          {},
        ),
    ],
    [
      'a page of the feed',
      5_000,
      (fetch) => requestFeed(fetch, URL, { asStream: false, closing: new AbortController().signal }),
    ],
    [
      "the issuer's key set",
      5_000,
      (fetch) => {
        const keys = createIssuerKeys({ jwksUri: `${URL}/jwks`, fetch, elapsed: () => 0 });
        return keys.verify(`${btoa('{"alg":"ES256","kid":"k"}').replaceAll('=', '')}.e30.AA`);
      },
    ],
    [
      'a request of an agent',
      30_000,
      (fetch) =>
        createServiceClient({ issuer: URL, prover: undefined, fetch, maxWaitSeconds: 0 }).call({ path: '/' }),
    ],
  ];

  it.each(cases)('%s', async (_, milliseconds, ask) => {
    const { fetch, cancelled } = createStalling();
    const failed = ask(fetch).then(
      () => 'answered',
      () => 'failed',
    );
    await vi.advanceTimersByTimeAsync(milliseconds);
    expect(await failed).toBe('failed');
    expect(cancelled()).toBe(1);
  });
});
