// Reads the feed for clients that wait: a page as soon as it has an event, or pages without an end.
// docs/decisions/0042-held-reads.md
import { normalizeFilter } from '../../events/filter.ts';
import type { RequestContext } from '../../platform/context.ts';
import type { Hold } from '../../platform/hold.ts';
import { roomOwnerOf } from '../../platform/room.ts';
import { Service } from '../../platform/service.ts';
import type { EventWaiters, Waiter } from './event-waiters.service.ts';
import type { FeedPage, FeedQuery, FeedService } from './feed.service.ts';

/** Milliseconds between two things that a follower hears, so that it knows soon when it hears nothing. */
const HEARTBEAT = 1_000;

/**
 * What a follower hears: a page; until when it has missed nothing, `undefined` while that is not known anew; or that
 * the process ends, and another one goes on from the cursor.
 */
export type Heard =
  | { readonly kind: 'page'; readonly page: FeedPage }
  | { readonly kind: 'complete'; readonly until: Date | undefined }
  | { readonly kind: 'end' };

export type HeldFeedNeeds = {
  feed: Pick<FeedService, 'read'>;
  waiters: Pick<EventWaiters, 'join'>;
};

export class HeldFeedService extends Service<HeldFeedNeeds> {
  /**
   * Reads a page like `read` of the feed. Without an event it waits for one: up to `wait` milliseconds, until the
   * process ends or the client goes; then the page is empty, with its cursor.
   * @throws ServiceError as `read`; `rate_limited`, `temporarily_unavailable` when no place to wait is left
   */
  readHeld = async (
    context: RequestContext,
    { wait, ...query }: FeedQuery & { readonly wait: number },
    hold: Hold,
  ): Promise<FeedPage> => {
    const read = this.#readInTurn(context, query, hold);
    if (wait === 0) return read(query.after);
    const place = this.needs.waiters.join(roomOwnerOf(context), filtersOf(query), hold.onEnd);
    try {
      const end = performance.now() + wait;
      for (let { after } = query; ; ) {
        const page = await read(after);
        const left = end - performance.now();
        if (page.data.length > 0 || page.hasMore || left <= 0) return page;
        after = page.nextCursor;
        if ((await hold.wait(place.next(left))) === 'closing') return page;
      }
    } finally {
      place.leave();
    }
  };

  /**
   * Reads the first page, and returns all that a follower hears, which begins with it.
   * @throws ServiceError as `readHeld`
   */
  follow = async (context: RequestContext, query: FeedQuery, hold: Hold): Promise<AsyncIterable<Heard>> => {
    const place = this.needs.waiters.join(roomOwnerOf(context), filtersOf(query), hold.onEnd);
    try {
      const read = this.#readInTurn(context, query, hold);
      return hear(await read(query.after), { read, place, hold });
    } catch (error) {
      place.leave();
      throw error;
    }
  };

  /** @returns a function that reads the page after a cursor */
  #readInTurn =
    (context: RequestContext, query: Omit<FeedQuery, 'after'>, hold: Hold) =>
    (after: string | undefined): Promise<FeedPage> =>
      hold.inTurn(() => this.needs.feed.read(context, { ...query, after, isShared: hold.isShared() }));
}

type Following = { read: (after: string) => Promise<FeedPage>; place: Waiter; hold: Hold };

async function* hear(first: FeedPage, { read, place, hold }: Following): AsyncGenerator<Heard> {
  for (let page = first; ; page = await read(page.nextCursor)) {
    yield { kind: 'page', page };
    if (page.hasMore) continue;
    for (let woken = await pause(); woken !== 'news'; woken = await pause()) {
      if (woken === 'closing') {
        yield { kind: 'end' };
        return;
      }
      yield { kind: 'complete', until: later(place.completeUntil(), page.completeUntil) };
    }
  }

  function pause() {
    return hold.wait(place.next(HEARTBEAT));
  }
}

const later = (known: Date | undefined, read: Date | null): Date | undefined =>
  known !== undefined && (read === null || known > read) ? known : undefined;

function filtersOf({ type }: FeedQuery): string[] {
  return type === undefined ? ['*'] : [...new Set(type.map(normalizeFilter))];
}
