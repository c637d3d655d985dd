// The feed for readers that wait, over HTTP: pages that come with the next event, and Server-Sent Events.
import fc from 'fast-check';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { loadConfig } from '../../../src/platform/config.ts';
import type { RequestContext } from '../../../src/platform/context.ts';
import { ServiceError } from '../../../src/platform/errors/service-error.ts';
import { createRequestTurns } from '../../../src/platform/http/request-turns.ts';
import { createLogger } from '../../../src/platform/logger.ts';
import { openPlatform } from '../../../src/platform/opening/platform.ts';
import { createEventRoutes } from '../../../src/webhooks/intake/event.routes.ts';
import { EventWaiters } from '../../../src/webhooks/intake/event-waiters.service.ts';
import { FeedService } from '../../../src/webhooks/intake/feed.service.ts';
import { FEED_START } from '../../../src/webhooks/intake/feed-cursor.ts';
import { HeldFeedService } from '../../../src/webhooks/intake/held-feed.service.ts';
import { PublishingService } from '../../../src/webhooks/intake/publishing.service.ts';
import { wireEventNews } from '../../../src/webhooks/intake/wire.ts';
import { startTestServer, tokenFor, tokensAfter } from '../../platform/http/test-server.ts';
import { PATIENT, useTestDatabase } from '../../setup/database.ts';
import { PATIENCE } from '../../setup/patience.ts';
import { CURSORS, createTenantContext } from './fixture.ts';

type Page = { data: { event_id: string }[]; next_cursor: string; has_more: boolean; complete_until: string };
type Sent = { event: string; id: string; data: { event_id?: string; complete_until?: string } };

const FEED = '/api/v1/events';
const TOKEN = tokenFor('app', 'events:read', 'events:write');

const closings: (() => Promise<unknown>)[] = [];
const test = await useTestDatabase();
afterAll(async () => {
  for (const close of closings.reverse()) await close();
});

/**
 * An api process: one connection of the pool, one turn of a tenant.
 * @param options.looks false: it finds nothing that no notification tells
 */
async function startProcess({ looks = true, heard = true, ofTenant = 1_000 } = {}) {
  const context = await createTenantContext(test.database);
  const config = loadConfig({ DATABASE_URL: test.url, LOG_LEVEL: 'silent' }, { role: 'migrate' });
  const logger = createLogger(config);
  const platform = openPlatform({ ...config, databasePool: 1 }, { logger, name: 'api', limits: PATIENT });
  const { database } = platform;
  const { tellEvents, listenToEvents } = wireEventNews(platform);
  const notices: (string | undefined)[] = [];
  const waiters = new EventWaiters({
    database,
    listen: (onNotice) =>
      listenToEvents((text) => {
        notices.push(text);
        if (heard) onNotice(text);
      }),
    ...(looks ? {} : { look: () => Promise.reject(new Error('no look')) }),
    settings: { most: { client: ofTenant, tenant: ofTenant, process: 2 * ofTenant } },
  });
  const feed = new FeedService({ ...CURSORS, database, deliveries: { listOfEvent: async () => [] } });
  const read = vi.fn(feed.read);
  const publishing = new PublishingService({
    database,
    notifier: { poke: () => undefined },
    tellEvents,
    backlog: { check: () => undefined, add: () => undefined },
  });
  const heldFeed = new HeldFeedService({ feed: { read }, waiters });
  let refusal: ServiceError | undefined;
  const turns = createRequestTurns({ connections: 1, now: () => 0 });
  const server = await startTestServer(createEventRoutes({ publishing, feed, heldFeed }), {
    database,
    tenants: { bySlug: async () => context.tenant },
    turns,
    ...tokensAfter(() => {
      if (refusal !== undefined) throw refusal;
    }),
  });
  closings.push(async () => {
    waiters.end();
    await server.drain(0);
    await waiters.close();
    await platform.close();
  });
  const authorization = `Bearer ${TOKEN}`;
  const publish = async (ids: string[], type = 'orders.placed', given: RequestContext = context) =>
    publishing.publish(
      given,
      ids.map((eventId) => ({ path: 'body', type, data: {}, eventId, occurredAt: undefined })),
    );
  return {
    context,
    database,
    waiters,
    read,
    turns,
    publish,
    drain: server.drain,
    refuseTokens: (error: ServiceError) => {
      refusal = error;
    },
    get: async (query = '', init: RequestInit = {}) => {
      const response = await fetch(`${server.origin}${FEED}?${query}`, {
        ...init,
        headers: { authorization, ...init.headers },
      });
      return { status: response.status, headers: response.headers, body: (await response.json()) as Page };
    },
    follow: (query = '', { signal, ...headers }: Record<string, string> & { signal?: AbortSignal } = {}) =>
      fetch(`${server.origin}${FEED}?${query}`, {
        headers: { authorization, accept: 'text/event-stream', ...headers },
        ...(signal === undefined ? {} : { signal }),
      }),
    /** Waits until so many readers wait after so many reads, and notifications are heard. */
    areWaiting: (count: number, reads: number) =>
      vi.waitUntil(
        () =>
          waiters.size() === count &&
          (count === 0 || notices.length > 0) &&
          read.mock.settledResults.filter(({ type }) => type === 'fulfilled').length >= reads,
        PATIENCE,
      ),
  };
}

const idsOf = ({ data }: Page) => data.map(({ event_id: id }) => id);

describe('GET /api/v1/events?wait=', () => {
  it('is answered by a publication of this process and of another one, by a notification alone', async () => {
    const here = await startProcess({ looks: false });
    const there = await startProcess();
    let after = (await here.get()).body.next_cursor;
    for (const publisher of [there, here]) {
      const before = here.read.mock.calls.length;
      const waiting = here.get(`after=${after}&wait=30`);
      await here.areWaiting(1, before + 1);
      await publisher.publish([`by-${publisher === here}`], 'orders.placed', here.context);
      const { body } = await waiting;
      expect(idsOf(body)).toEqual([`by-${publisher === here}`]);
      expect(here.read.mock.calls.length).toBe(before + 2);
      after = body.next_cursor;
    }
    expect(here.waiters.size()).toBe(0);
  });

  it('is answered when the notification was lost', async () => {
    const { get, publish, areWaiting } = await startProcess({ heard: false });
    const waiting = get('wait=30');
    await areWaiting(1, 1);
    await publish(['unheard']);
    expect(idsOf((await waiting).body)).toEqual(['unheard']);
  });

  it('reads again only for readers whose tenant and types match', async () => {
    const { get, publish, areWaiting, read, context, waiters } = await startProcess({ looks: false });
    const stranger = await createTenantContext(test.database);
    const readers = Array.from({ length: 5 }, () => get('type=auth.*&wait=30'));
    const matching = get('type=orders.*,vault.*&wait=30');
    await areWaiting(6, 6);
    await publish(['elsewhere'], 'orders.placed', stranger);
    await publish(['here']);
    expect(idsOf((await matching).body)).toEqual(['here']);
    expect([read.mock.calls.length, waiters.size()]).toEqual([7, 5]);
    await publish(['revoked'], 'auth.token.revoked', context);
    for (const answer of await Promise.all(readers)) expect(idsOf(answer.body)).toEqual(['revoked']);
  });

  it('holds no connection and no turn: with one of each other requests pass', async () => {
    const { get, publish, areWaiting } = await startProcess();
    const waiting = [get('wait=30'), get('wait=30'), get('type=vault.*,orders.paid&wait=30')];
    await areWaiting(3, 3);
    expect((await get('type=none.at_all')).status).toBe(200);
    await publish(['one']);
    await publish(['two'], 'orders.paid');
    for (const answer of await Promise.all(waiting)) expect(answer.body.data).not.toEqual([]);
  });

  it('reads smaller pages beside requests of another tenant', async () => {
    const { get, read, turns } = await startProcess();
    await get();
    await turns.start('another');
    await get();
    expect(read.mock.calls.map(([, { isShared }]) => isShared)).toEqual([false, true]);
  });

  it('is an empty page with its cursor after the time, and when the process ends', async () => {
    const { get, publish, areWaiting, waiters } = await startProcess();
    const { body } = await get('wait=1');
    expect([body.data, body.has_more]).toEqual([[], false]);
    expect(body.complete_until).toEqual(expect.any(String));
    const waiting = get(`after=${body.next_cursor}&wait=30`);
    await areWaiting(1, 3);
    waiters.end();
    const last = (await waiting).body;
    expect(last.data).toEqual([]);
    await publish(['after-the-end']);
    expect(idsOf((await get(`after=${last.next_cursor}&wait=30`)).body)).toEqual(['after-the-end']);
  });

  it('is given up when its client goes', async () => {
    const { get, areWaiting } = await startProcess();
    const leaving = new AbortController();
    const waiting = get('wait=30', { signal: leaving.signal });
    await areWaiting(1, 1);
    leaving.abort();
    await expect(waiting).rejects.toThrow();
    await areWaiting(0, 1);
  });

  it('is refused when the token ends meanwhile', async () => {
    const { get, publish, areWaiting, refuseTokens } = await startProcess();
    const waiting = get('wait=30');
    await areWaiting(1, 1);
    refuseTokens(new ServiceError('token_revoked', { detail: 'The access token was revoked.' }));
    await publish(['not-for-it']);
    expect((await waiting).status).toBe(401);
  });

  it('is 429 with Retry-After when too many readers of the tenant wait', async () => {
    const { get, publish, areWaiting } = await startProcess({ ofTenant: 1 });
    const waiting = get('wait=30');
    await areWaiting(1, 1);
    const refused = await get('wait=30');
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '5']);
    expect((await get('wait=0')).status).toBe(200);
    await publish(['enough']);
    expect((await waiting).status).toBe(200);
  });

  it.each(['31', '-1', '1.5', '01', ''])('refuses %j seconds', async (wait) => {
    const { get } = await shared();
    expect((await get(`wait=${wait}`)).status).toBe(400);
  });
});

let kept: ReturnType<typeof startProcess> | undefined;
/** A process for cases that leave nobody waiting. */
const shared = () => (kept ??= startProcess());

/** Reads Server-Sent Events as the HTML Standard says, until the end of the stream. */
async function* readStream(response: Response): AsyncGenerator<Sent> {
  let rest = '';
  let id = '';
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    const blocks = (rest + decoder.decode(chunk, { stream: true })).split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const fields = new Map(
        block
          .split('\n')
          .map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
      );
      id = fields.get('id') ?? id;
      const data = fields.get('data');
      if (data !== undefined) yield { event: fields.get('event') ?? 'message', id, data: JSON.parse(data) };
    }
  }
}

describe('GET /api/v1/events as Server-Sent Events', () => {
  it('sends each event with its cursor as it comes, and says until when nothing is missing', async () => {
    const { follow, publish, areWaiting, get } = await startProcess();
    await publish(['before', 'too']);
    const response = await follow();
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream']);
    const sent = readStream(response);
    const next = async () => (await sent.next()).value as Sent;
    const first = await next();
    expect([first.event, first.data.event_id]).toEqual(['message', 'before']);
    expect((await next()).data.event_id).toBe('too');
    const complete = await next();
    expect(complete.event).toBe('complete');
    await areWaiting(1, 1);
    await publish(['later']);
    let last = complete;
    for (let heard = await next(); heard.event !== 'message'; heard = await next()) last = heard;
    expect(Date.parse(String(last.data.complete_until))).toBeGreaterThanOrEqual(
      Date.parse(String(complete.data.complete_until)),
    );
    const rest = await get(`after=${first.id}`);
    expect(idsOf(rest.body)).toEqual(['too', 'later']);
    await sent.return(undefined);
    await areWaiting(0, 1);
  });

  it('says anew until when nothing is missing, without a read of the feed', async () => {
    const { follow, read } = await startProcess();
    const leaving = new AbortController();
    const times = new Set<string | undefined>();
    for await (const { event, data } of readStream(await follow('', { signal: leaving.signal } as never))) {
      expect(event).toBe('complete');
      times.add(data.complete_until);
      if (times.size === 4) break;
    }
    // The first read, and the one after the first look.
    expect(read.mock.calls.length).toBe(2);
    leaving.abort();
  });

  it('ends in order when the process ends', async () => {
    const { follow, areWaiting, waiters, drain } = await startProcess();
    const response = await follow();
    await areWaiting(1, 1);
    const all = (async () => {
      const names: string[] = [];
      for await (const { event } of readStream(response)) names.push(event);
      return names;
    })();
    waiters.end();
    await drain();
    expect((await all).at(-1)).toBe('end');
    expect(waiters.size()).toBe(0);
  });

  it('ends without the event when the token has ended', async () => {
    const { follow, publish, areWaiting, refuseTokens } = await startProcess();
    const response = await follow();
    await areWaiting(1, 1);
    refuseTokens(new ServiceError('token_expired', { detail: 'The access token has expired.' }));
    await publish(['not-for-it']);
    for await (const { event } of readStream(response)) expect(event).toBe('complete');
    await areWaiting(0, 1);
  });

  it.each([
    ['no cursor with 400', () => 'nonsense', 400],
    [
      'an old cursor with 410',
      (tenantId: string) => CURSORS.cursors.seal(tenantId, { ...FEED_START, at: 1 }),
      410,
    ],
  ])('answers %s', async (_, cursorOf, status) => {
    const { follow, context } = await shared();
    const response = await follow('', { 'last-event-id': cursorOf(context.tenant.id) });
    expect([response.status, response.headers.get('content-type')]).toEqual([
      status,
      'application/problem+json',
    ]);
  });

  it('loses nothing and repeats nothing over any interruptions', async () => {
    const { follow, publish } = await startProcess();
    let published = 0;
    let seen: string[] = [];
    let last: Record<string, string> = {};
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ before: fc.nat(4), taken: fc.nat(5) }), { minLength: 1, maxLength: 4 }),
        async (steps) => {
          seen = [];
          const begun = published;
          for (const { before, taken } of [...steps, { before: 1, taken: Number.POSITIVE_INFINITY }]) {
            const ids = Array.from({ length: before }, () => `e${published++}`);
            if (ids.length > 0) await publish(ids);
            let count = 0;
            const leaving = new AbortController();
            const response = await follow('limit=3', { ...last, signal: leaving.signal } as never);
            for await (const { event, id, data } of readStream(response)) {
              if (event === 'message') seen.push(String(data.event_id));
              last = { 'last-event-id': id };
              if (++count > taken || seen.length === published - begun) break;
            }
            leaving.abort();
          }
          expect(seen).toEqual(Array.from({ length: published - begun }, (_, n) => `e${begun + n}`));
        },
      ),
      { numRuns: 12 },
    );
  });
});
