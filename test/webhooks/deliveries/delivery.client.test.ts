// Sends to ordinary receivers on loopback and holds what goes over the wire and what comes back.
import { SpanKind } from '@opentelemetry/api';
import { afterAll, describe, expect, it } from 'vitest';
import { tracerWithSpans } from '../../platform/tracing/spans.ts';
import { type ReceivedRequest, readRequest, startReceiver } from '../receiver/local-receiver.ts';
import { attemptTo, BODY, expectBounded, startLocalSender } from './attempt.ts';

const local = startLocalSender();
const received: ReceivedRequest[] = [];
let answer: { status: number; headers?: Record<string, string | string[]>; body?: string | Buffer };

const receiver = await startReceiver(async (request, response) => {
  received.push(await readRequest(request));
  response.writeHead(answer.status, answer.headers ?? {}).end(answer.body ?? '');
});

afterAll(async () => {
  await local.close();
  await receiver.close();
});

const urlOf = (path = '/hook') => `http://127.0.0.1:${receiver.port}${path}`;

async function deliver(next: typeof answer, changes: Parameters<typeof attemptTo>[1] = {}, path?: string) {
  answer = next;
  received.length = 0;
  const result = await local.sender.send(attemptTo(urlOf(path), changes));
  expectBounded(result);
  return { result, requests: [...received] };
}

describe('a delivery', () => {
  it('is one POST of the exact bytes with the headers of the specification', async () => {
    const began = Date.now();
    const { result, requests } = await deliver({ status: 200, body: 'ok' }, {}, '/hook?a=1&b=%20c');
    expect(requests).toHaveLength(1);
    const [request] = requests;
    expect(request).toMatchObject({ method: 'POST', path: '/hook?a=1&b=%20c' });
    expect(request?.body.equals(BODY)).toBe(true);
    expect(request?.headers).toMatchObject({
      host: `127.0.0.1:${receiver.port}`,
      'content-type': 'application/json',
      'content-length': String(BODY.length),
      'user-agent': 'Countersign-Webhooks/1',
      'accept-encoding': 'identity',
      'x-service-signature-suite': 'service-webhook-v1',
      'x-service-signature-max-age': '300',
      'x-service-event': 'auth.login.success',
      'x-service-delivery': '0193a0f0-0000-7000-8000-000000000001',
      'x-service-signature-256': expect.stringMatching(/^sha256=[0-9a-f]{64}$/),
    });
    expect(request?.headers['x-service-signature-256-next']).toBeUndefined();
    const timestamp = Number(request?.headers['x-service-timestamp']);
    expect(timestamp).toBeGreaterThanOrEqual(Math.floor(began / 1000));
    expect(timestamp).toBeLessThanOrEqual(Date.now() / 1000);
    expect(result).toMatchObject({
      statusCode: 200,
      outcome: { kind: 'delivered', statusCode: 200 },
      responseExcerpt: 'ok',
      retryAfterSeconds: null,
      remoteAddress: '127.0.0.1',
    });
  });

  it('carries the signatures that its subscription asks for, and its type and id in any case', async () => {
    const of = async (signatures: readonly string[] | undefined) => {
      const { requests } = await deliver({ status: 204 }, { signatures });
      return Object.keys(requests[0]?.headers ?? {}).filter((name) => /^(x-service|webhook)-/.test(name));
    };
    const always = ['x-service-event', 'x-service-delivery'];
    const suite = ['suite', '256', 'max-age'].map((name) => `x-service-signature-${name}`);
    const specified = [...suite, 'x-service-timestamp', ...always];
    const standard = ['webhook-id', 'webhook-timestamp', 'webhook-signature'];
    expect(await of(undefined)).toEqual([...specified, ...standard]);
    expect(await of(['service-webhook-v1'])).toEqual(specified);
    expect(await of(['v1'])).toEqual([...always, ...standard]);
    expect(await of(['service-webhook-v1', 'of a later version'])).toEqual(specified);
  });

  it('carries a second signature while a rotation overlaps, and custom headers', async () => {
    const { requests } = await deliver(
      { status: 204 },
      { secrets: { current: 'a'.repeat(32), next: 'b'.repeat(32) }, headers: { authorization: 'Bearer x' } },
    );
    const headers = requests[0]?.headers;
    expect(headers?.['x-service-signature-256-next']).toMatch(/^sha256=[0-9a-f]{64}$/);
    expect(headers?.['x-service-signature-256-next']).not.toBe(headers?.['x-service-signature-256']);
    expect(headers?.authorization).toBe('Bearer x');
  });

  it('names its trace where there is one, unless the subscription has such a header of its own', async () => {
    const { tracer: tracing, spans: ended } = tracerWithSpans('always_on');
    const traced = startLocalSender({}, tracing);
    answer = { status: 503 };
    received.length = 0;
    const own = `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01`;
    await tracing.span('attempt', { root: true }, async () => {
      await traced.sender.send(attemptTo(urlOf('/secret-path')));
      await traced.sender.send(attemptTo(urlOf(), { headers: { traceparent: own } }));
    });
    await traced.sender.send(attemptTo(urlOf()));
    await traced.close();
    const spans = ended();
    const [post] = spans;
    const sent = received.map(({ headers }) => headers.traceparent);
    expect(sent).toEqual([`00-${post?.traceId}-${post?.spanId}-01`, own, undefined]);
    expect(post).toMatchObject({
      name: 'POST',
      kind: SpanKind.CLIENT,
      failed: true,
      parentSpanId: spans.at(-1)?.spanId,
      attributes: {
        'server.address': '127.0.0.1',
        'http.response.status_code': 503,
        'error.type': 'http:503',
      },
    });
    expect(JSON.stringify(spans)).not.toContain('secret-path');
    expect(spans).toHaveLength(3);
  });

  it('measures its phases, and has none for a connection that was kept alive', async () => {
    const fresh = startLocalSender();
    answer = { status: 200 };
    const first = await fresh.sender.send(attemptTo(urlOf()));
    await new Promise((resolve) => setTimeout(resolve, 20));
    const second = await fresh.sender.send(attemptTo(urlOf()));
    await fresh.close();
    expect(first.phases).toMatchObject({
      dns_ms: expect.any(Number),
      connect_ms: expect.any(Number),
      tls_ms: null,
      first_byte_ms: expect.any(Number),
    });
    expect(second.phases).toMatchObject({
      dns_ms: null,
      connect_ms: null,
      first_byte_ms: expect.any(Number),
    });
    expect(second.remoteAddress).toBe('127.0.0.1');
  });

  it('goes to localhost by that name', async () => {
    answer = { status: 200 };
    const result = await local.sender.send(attemptTo(`http://localhost:${receiver.port}/`));
    expect(result.outcome.kind).toBe('delivered');
  });

  it('may be sent many times side by side', async () => {
    answer = { status: 200 };
    received.length = 0;
    const ids = Array.from({ length: 100 }, (_, index) => `delivery-${index}`);
    const results = await Promise.all(
      ids.map((deliveryId) => local.sender.send(attemptTo(urlOf(), { deliveryId, timeoutMs: 15_000 }))),
    );
    expect(results.every(({ outcome }) => outcome.kind === 'delivered')).toBe(true);
    expect(received.map(({ headers }) => headers['x-service-delivery']).sort()).toEqual(ids.sort());
  });
});

describe('an answer', () => {
  it('of 302 is not followed', async () => {
    const { result, requests } = await deliver({ status: 302, headers: { location: urlOf('/elsewhere') } });
    expect(requests.map(({ path }) => path)).toEqual(['/hook']);
    expect(result.outcome).toMatchObject({ kind: 'retry', errorClass: 'redirect', statusCode: 302 });
  });

  it('of 410 is gone, of 422 rejected, of 404 and 500 retried', async () => {
    expect((await deliver({ status: 410 })).result.outcome.kind).toBe('gone');
    expect((await deliver({ status: 422 })).result.outcome.kind).toBe('rejected');
    for (const status of [404, 500]) {
      expect((await deliver({ status })).result.outcome).toMatchObject({
        kind: 'retry',
        error: `http:${status}`,
      });
    }
  });

  it.each([
    ['120', 120],
    ['99999999999999999999999999', 2 ** 31 - 1],
    ['0x10', null],
    ['Sun, 06 Nov 1994 08:49:37 GMT', 0],
  ])('of 429 with Retry-After %s waits %s seconds', async (value, seconds) => {
    const { result } = await deliver({ status: 429, headers: { 'retry-after': value } });
    expect(result.retryAfterSeconds).toBe(seconds);
    expect(result.outcome).toMatchObject({ kind: 'retry', hold: (seconds ?? 0) > 0 });
  });

  it('with 60 KiB of headers counts', async () => {
    const cookies = Array.from({ length: 60 }, (_, index) => `c${index}=${'x'.repeat(1000)}`);
    const { result } = await deliver({ status: 200, headers: { 'set-cookie': cookies } });
    expect(result.outcome).toEqual({ kind: 'delivered', statusCode: 200 });
  });

  it.each([
    [['5', '6'], null],
    [['5', '5'], 5],
    [['5', '5', '6'], null],
    [['5, 5'], null],
  ])('with the Retry-After headers %j waits %s seconds', async (values, seconds) => {
    const { result } = await deliver({ status: 503, headers: { 'retry-after': values } });
    expect(result.retryAfterSeconds).toBe(seconds);
  });

  it('with NUL, control characters and broken UTF-8 is stored as clean text', async () => {
    const body = Buffer.concat([
      Buffer.from('a\0b\x1b[31mc\u202e\r\nd\te'),
      Buffer.from([0xff, 0xed, 0xa0, 0x80]),
    ]);
    const { result } = await deliver({ status: 500, body });
    expect(result.responseExcerpt).toBe('ab[31mc\nd\te\ufffd\ufffd\ufffd\ufffd');
  });

  it('is cut at 1 KiB, between characters', async () => {
    const { result } = await deliver({ status: 200, body: `x${'ü'.repeat(2000)}` });
    expect(result.responseExcerpt).toBe(`x${'ü'.repeat(511)}`);
  });
});

describe('what is our own part', () => {
  it('throws when the service shuts down before or during an attempt', async () => {
    const gone = AbortSignal.abort(new Error('shutting down'));
    await expect(local.sender.send(attemptTo(urlOf(), { signal: gone }))).rejects.toThrow('shutting down');
    const silent = await startReceiver(() => {});
    const stop = new AbortController();
    const sending = local.sender.send(
      attemptTo(`http://127.0.0.1:${silent.port}/`, { signal: stop.signal, timeoutMs: 10_000 }),
    );
    setTimeout(() => stop.abort(new Error('shutting down')), 50);
    await expect(sending).rejects.toThrow('shutting down');
    await silent.close();
  });

  it('throws for a header that cannot be sent, and after the agent was closed', async () => {
    const bad = attemptTo(urlOf(), { headers: { 'x-a': 'a\r\nb: c' } });
    await expect(local.sender.send(bad)).rejects.toThrow('invalid');
    const closed = startLocalSender();
    await closed.close();
    await expect(closed.sender.send(attemptTo(urlOf()))).rejects.toThrow();
  });

  it('signs with the time that the attempt has', async () => {
    answer = { status: 200 };
    received.length = 0;
    await local.sender.send(attemptTo(urlOf(), { now: () => 1_700_000_000_999 }));
    expect(received[0]?.headers['x-service-timestamp']).toBe('1700000000');
  });
});
