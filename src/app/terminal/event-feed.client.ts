// Follows the feed of events, page after page; at its end each request waits for the next event.
import { setTimeout as pause } from 'node:timers/promises';
import type { Json, TenantApi } from './tenant-api.client.ts';
import { queryOf } from './tenant-api.client.ts';

export type FeedEvent = Json & {
  readonly event_id: string;
  readonly type: string;
  readonly occurred_at: string;
  readonly created_at: string;
};

type Page = { readonly data: readonly FeedEvent[]; readonly next_cursor: string; readonly has_more: boolean };

/** Seconds that the service waits for an event, and milliseconds between two requests while nothing comes. */
const WAIT = 20;
const PAUSE = 1_000;

/** The most types that one request of the feed takes. */
const MOST_TYPES = 20;

/**
 * Yields events in the order of the feed.
 * @param eventTypes types and patterns that the service is asked for; all come when there are too many for a request
 * @param since the time of acceptance to begin at; now unless given
 * @param follow goes on until the signal aborts; otherwise ends at the feed's end
 */
export async function* readFeed(
  api: Pick<TenantApi, 'call'>,
  {
    eventTypes,
    since,
    follow,
    signal,
  }: { eventTypes: readonly string[]; since?: Date | undefined; follow: boolean; signal: AbortSignal },
): AsyncGenerator<FeedEvent> {
  const asked = { limit: '200', type: eventTypes.length > MOST_TYPES ? undefined : eventTypes.join(',') };
  let query: Record<string, string | undefined> = { ...asked, since: (since ?? new Date()).toISOString() };
  while (!signal.aborted) {
    const answer = await api
      .call('GET', `/api/v1/events${queryOf(query)}`, undefined, signal)
      .catch((error: unknown) => {
        if (!signal.aborted) throw error;
      });
    if (answer === undefined) return;
    const page = answer as unknown as Page;
    yield* page.data;
    query = { ...asked, after: page.next_cursor, wait: follow ? String(WAIT) : undefined };
    if (page.has_more) continue;
    if (!follow) return;
    if (page.data.length === 0) await pause(PAUSE, undefined, { signal }).catch(() => undefined);
  }
}
