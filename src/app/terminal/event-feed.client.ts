// Follows the feed of events, page after page and then once a second.
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

/** Milliseconds between two questions while nothing comes. */
const INTERVAL = 1_000;

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
    const page = (await api.call('GET', `/api/v1/events${queryOf(query)}`)) as unknown as Page;
    yield* page.data;
    query = { ...asked, after: page.next_cursor };
    if (page.has_more) continue;
    if (!follow) return;
    await pause(INTERVAL, undefined, { signal }).catch(() => undefined);
  }
}
