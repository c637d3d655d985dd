// Readers that wait: who is woken by what, and until when a reader knows that it has missed nothing.
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Look } from '../../../src/webhooks/intake/event-look.store.ts';
import { createEventNews, type TenantNews } from '../../../src/webhooks/intake/event-news.ts';
import { EventWaiters, type WaiterSettings } from '../../../src/webhooks/intake/event-waiters.service.ts';

const STAYS = () => undefined;
const LONG = 3_600_000;
let waiters: EventWaiters;

/** Waiters over a database that a test plays: each look finds what was put there since the look before. */
function start(settings: Partial<WaiterSettings> = {}) {
  let found: TenantNews[] = [];
  let failure: Error | undefined;
  let looks = 0;
  let hear: (text?: string) => void = () => undefined;
  const failures: unknown[] = [];
  const look = async (_: unknown, tenantIds: readonly string[], since: unknown): Promise<Look> => {
    looks += 1;
    if (failure !== undefined) throw failure;
    const news = since === undefined ? [] : found.filter(({ tenantId }) => tenantIds.includes(tenantId));
    found = [];
    const position = { xid: BigInt(looks), id: '', open: [] };
    return { position, next: BigInt(looks) + 1n, readAt: new Date(looks * 1_000), news };
  };
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  waiters = new EventWaiters({
    database: { query: () => Promise.reject(new Error('the look is played')) },
    listen: (onNotice) => {
      hear = onNotice;
      return { close: async () => undefined };
    },
    onFailure: (error) => failures.push(error),
    look,
    settings,
  });
  return {
    failures,
    notify: (...events: [tenant: string, type: string][]) => {
      const news = createEventNews();
      for (const [tenant, type] of events) news.add(tenant, type);
      for (const text of news.take(7_900)) hear(text);
    },
    reconnect: () => hear(),
    find: (...news: TenantNews[]) => {
      found.push(...news);
    },
    fail: (error: Error | undefined) => {
      failure = error;
    },
    /** Lets one look happen. */
    letLook: () => vi.advanceTimersByTimeAsync(500),
  };
}

afterEach(async () => {
  await waiters.close();
  vi.useRealTimers();
});

/** Reads like a reader of the feed: the reasons for which its waits ended, one after the other. */
const owner = (tenant: string, client = 'app') => ({ tenant, client });

function follow(tenant: string, ...filters: string[]) {
  let go: () => void = () => undefined;
  const place = waiters.join(owner(tenant), filters, (listener) => {
    go = listener;
  });
  const woken: string[] = [];
  const ended = (async () => {
    while (woken.at(-1) !== 'closing') woken.push(await place.next(LONG));
    place.leave();
  })();
  return { place, woken, ended, go: () => go() };
}

describe('readers that wait', () => {
  it('are woken by a notification of their tenant that matches one of their filters, and by no other', async () => {
    const { notify, letLook } = start();
    const readers = {
      exact: follow('one', 'orders.placed'),
      pattern: follow('one', 'orders.*', 'auth.*'),
      all: follow('one', '*'),
      other: follow('one', 'auth.token.revoked'),
      stranger: follow('two', '*'),
    };
    await letLook();
    const before = Object.values(readers).map(({ woken }) => woken.length);
    // A reader that had read before there was a look to count from reads once more.
    expect(before).toEqual([1, 1, 1, 1, 1]);
    notify(['one', 'orders.placed'], ['one', 'orders.paid'], ['three', 'orders.placed']);
    await letLook();
    expect(Object.values(readers).map(({ woken }) => woken.length)).toEqual([2, 2, 2, 1, 1]);
  });

  it('are woken by a look when the notification was lost', async () => {
    const { find, letLook } = start();
    const [reader, other] = [follow('one', 'orders.*'), follow('one', 'auth.*')];
    await letLook();
    find({ tenantId: 'one', types: ['orders.placed'] });
    await letLook();
    expect([reader.woken, other.woken]).toEqual([['news', 'news'], ['news']]);
    find({ tenantId: 'one', types: undefined });
    await letLook();
    expect([reader.woken.length, other.woken.length]).toEqual([3, 2]);
  });

  it('look when the listener has a new connection, which may have missed something', async () => {
    const { find, letLook, reconnect } = start();
    const reader = follow('one', '*');
    await letLook();
    find({ tenantId: 'one', types: ['orders.placed'] });
    reconnect();
    await vi.advanceTimersByTimeAsync(0);
    expect(reader.woken).toEqual(['news', 'news']);
  });

  it('keep news that come while a reader reads', async () => {
    const { notify } = start();
    const place = waiters.join(owner('one'), ['*'], STAYS);
    notify(['one', 'orders.placed']);
    expect(place.completeUntil()).toBeUndefined();
    expect(await place.next(LONG)).toBe('news');
    const waiting = place.next(1_000);
    await vi.advanceTimersByTimeAsync(100);
    notify(['one', 'orders.paid']);
    expect(await waiting).toBe('news');
  });

  it('know until when they have missed nothing from the last look, and nothing anew while looks fail', async () => {
    const { letLook, fail, failures } = start();
    const reader = follow('one', '*');
    expect(reader.place.completeUntil()).toBeUndefined();
    await letLook();
    expect(reader.place.completeUntil()).toEqual(new Date(1_000));
    await letLook();
    expect(reader.place.completeUntil()).toEqual(new Date(2_000));
    fail(new Error('away'));
    await letLook();
    expect([reader.place.completeUntil(), failures.length]).toEqual([new Date(2_000), 1]);
    fail(undefined);
    await letLook();
    expect(reader.place.completeUntil()).toEqual(new Date(4_000));
  });

  it('end with their time, with their client, and with the process', async () => {
    start();
    const [patient, leaving] = [follow('one', '*'), follow('one', '*')];
    const place = waiters.join(owner('one'), ['*'], STAYS);
    const brief = place.next(20);
    await vi.advanceTimersByTimeAsync(20);
    expect(await brief).toBe('time');
    leaving.go();
    await leaving.ended;
    expect(waiters.size()).toBe(2);
    waiters.end();
    await patient.ended;
    expect(await place.next(LONG)).toBe('closing');
    place.leave();
    place.leave();
    expect(waiters.size()).toBe(0);
  });

  it('are bounded for a client, for a tenant and for the process, and their places come back', () => {
    start({ most: { client: 4, tenant: 4, process: 8 } });
    const join = (tenant: string, client: string) => waiters.join(owner(tenant, client), ['*'], STAYS);
    const refused = (code: string) => expect.objectContaining({ code, retryAfterSeconds: 5 });
    const [first] = Array.from({ length: 4 }, () => join('one', 'a'));
    expect(() => join('one', 'a')).toThrow(refused('rate_limited'));
    for (let n = 0; n < 2; n += 1) join('two', 'a');
    for (let n = 0; n < 2; n += 1) expect(() => join('two', 'a')).toThrow(refused('temporarily_unavailable'));
    join('three', 'a');
    first?.leave();
    expect(join('four', 'a')).toBeDefined();
  });

  it('of one client leave places to the other clients of its tenant, and two tenants to all others', () => {
    start();
    const fill = (tenant: string, client: string) => {
      for (let n = 0; ; n += 1)
        try {
          waiters.join(owner(tenant, client), ['*'], STAYS);
        } catch {
          return n;
        }
    };
    expect(fill('one', 'greedy')).toBe(8_000);
    expect(fill('one', 'other')).toBeGreaterThan(1_500);
    fill('two', 'greedy');
    fill('two', 'other');
    expect(fill('three', 'quiet')).toBeGreaterThan(1_000);
  });
});
