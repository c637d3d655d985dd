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

/**
 * Yields events in the order of the feed.
 * @param since the time of acceptance to begin at; now unless given
 * @param follow goes on until the signal aborts; otherwise ends at the feed's end
 */
export async function* readFeed(
  api: Pick<TenantApi, 'call'>,
  { since, follow, signal }: { since?: Date | undefined; follow: boolean; signal: AbortSignal },
): AsyncGenerator<FeedEvent> {
  let query: Record<string, string> = { since: (since ?? new Date()).toISOString(), limit: '200' };
  while (!signal.aborted) {
    const page = (await api.call('GET', `/api/v1/events${queryOf(query)}`)) as unknown as Page;
    yield* page.data;
    query = { after: page.next_cursor, limit: '200' };
    if (page.has_more) continue;
    if (!follow) return;
    await pause(INTERVAL, undefined, { signal }).catch(() => undefined);
  }
}
