// A guard that follows the stream of the feed: what it knows, until when, and where it goes on.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createGuard, type Guard } from '../../../packages/resource-server/src/guard.ts';
import { followRevocations, type Revocations } from '../../../packages/resource-server/src/revocations.ts';
import { createTestIssuer, type TestIssuer } from '../../../packages/resource-server/src/testing.ts';
import { writeEvent } from '../../../src/platform/http/event-stream.ts';
import { PATIENCE } from '../../setup/patience.ts';
import { bearer, outcomeOf } from './requests.ts';

type StreamEvent = { readonly event?: string; readonly id?: string | undefined; readonly data: unknown };
const write = ({ data, ...rest }: StreamEvent): string => writeEvent({ ...rest, text: JSON.stringify(data) });

const NOW = 1_800_000_000_000;

/** A stream of a service that a test plays. `at`: seconds of the service's clock since the first page. */
type Stream = {
  query: URLSearchParams;
  send: (...events: StreamEvent[]) => void;
  complete: (at: number, id?: string) => void;
  end: () => void;
};

let issuer: TestIssuer;
let streams: Stream[];
let revocations: Revocations;
let guard: Guard;
let elapsed: number;
beforeEach(async () => {
  issuer = await createTestIssuer({ now: () => NOW });
  streams = [];
  elapsed = 0;
  revocations = followRevocations({
    ...issuer.revocationsOptions,
    intervalMs: 5,
    onError: () => undefined,
    elapsed: () => elapsed * 1_000,
    fetch: (input, init) => {
      if (new Headers(init?.headers).get('accept')?.startsWith('text/event-stream') !== true)
        return issuer.fetch(input, init);
      return Promise.resolve(open(new URL(String(input)).searchParams, init?.signal ?? undefined));
    },
  });
  await revocations.ready();
  guard = createGuard({ ...issuer.guardOptions, revocations });
});
afterEach(() => revocations.close());

function open(query: URLSearchParams, signal: AbortSignal | undefined): Response {
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      const send = (...events: StreamEvent[]) =>
        controller.enqueue(new TextEncoder().encode(events.map(write).join('')));
      streams.push({
        query,
        send,
        complete: (at, id) => {
          const until = new Date(NOW + at * 1_000).toISOString();
          send({ event: 'complete', id, data: { complete_until: until } });
        },
        end: () => controller.close(),
      });
      signal?.addEventListener('abort', () => controller.error(signal.reason));
    },
  });
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
}

const nth = async (n: number): Promise<Stream> => {
  await vi.waitUntil(() => streams.length >= n, PATIENCE);
  return streams[n - 1] as Stream;
};
const knows = (until: number) =>
  vi.waitUntil(
    () => revocations.status().completeUntil === new Date(NOW + until * 1_000).toISOString(),
    PATIENCE,
  );
const revocationOf = (token: string, id: string): StreamEvent => {
  const { jti } = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
  const occurredAt = new Date(NOW).toISOString();
  return {
    id,
    data: {
      type: 'auth.token.revoked',
      occurred_at: occurredAt,
      data: { token_type: 'access_token', token_id: jti },
    },
  };
};

describe('a guard that follows a stream', () => {
  it('knows of a revocation by the stream, and asks for nothing meanwhile', async () => {
    const stream = await nth(1);
    const [one, two] = [await issuer.createToken(), await issuer.createToken()];
    stream.complete(0);
    await knows(0);
    expect(await outcomeOf(guard, bearer(one))).toBe('accepted');
    const before = issuer.requests.filter((path) => path === '/api/v1/events').length;
    stream.send(revocationOf(one, 'c1'));
    stream.complete(1);
    await knows(1);
    expect(await outcomeOf(guard, bearer(one))).toBe('401 token_revoked');
    expect(await outcomeOf(guard, bearer(two))).toBe('accepted');
    expect([issuer.requests.filter((path) => path === '/api/v1/events').length, streams.length]).toEqual([
      before,
      1,
    ]);
  });

  it('counts its age from what the stream says, and accepts nothing when that stands still', async () => {
    const stream = await nth(1);
    const token = await issuer.createToken();
    stream.complete(0);
    await knows(0);
    elapsed = 10;
    stream.complete(9);
    await knows(9);
    expect(revocations.status().ageSeconds).toBe(1);
    expect(await outcomeOf(guard, bearer(token))).toBe('accepted');
    elapsed = 13;
    expect(await outcomeOf(guard, bearer(token))).toMatch(/^503/);
    // The service's clock was set forward: it says no more than that the stream is here.
    stream.complete(500);
    await knows(500);
    expect(revocations.status().ageSeconds).toBe(0);
  });

  it('goes on from the last id when the stream ends, and says so with a failure when it cannot be read', async () => {
    const first = await nth(1);
    first.complete(0, 'c1');
    first.send(revocationOf(await issuer.createToken(), 'c2'));
    first.end();
    const second = await nth(2);
    expect([second.query.get('after'), second.query.get('since')]).toEqual(['c2', null]);
    second.send({ event: 'complete', data: { complete_until: 'never' } });
    await vi.waitUntil(() => revocations.status().lastError !== undefined, PATIENCE);
  });

  it('ends its stream when it is closed', async () => {
    (await nth(1)).complete(0);
    await knows(0);
    await revocations.close();
    expect(revocations.status().failures).toBe(0);
  });
});
