// The readers of this process that wait for events. A notification wakes those whose tenant and filters match; a look
// at the database twice a second finds what no notification told, and knows until when a reader has missed nothing.
// docs/decisions/0042-held-reads.md
import { filterCandidates } from '../../events/filter.ts';
import type { Database } from '../../platform/database/database.ts';
import type { SnapshotPosition } from '../../platform/database/snapshot-position.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import type { Hold } from '../../platform/hold.ts';
import { createLoop, type RunningLoop } from '../../platform/process/loop.ts';
import { createRoom, type RoomBounds, type RoomOwner } from '../../platform/room.ts';
import * as lookStore from './event-look.store.ts';
import { readNews, type TenantNews } from './event-news.ts';

/** Readers that may wait; `lookEvery` in milliseconds. */
export type WaiterSettings = { readonly most: RoomBounds; readonly lookEvery: number };

export const WAITER_SETTINGS: WaiterSettings = {
  most: { client: 8_000, tenant: 10_000, process: 20_000 },
  lookEvery: 500,
};

/** Why a wait ended. `closing`: the process ends, or the reader has gone. */
export type Woken = 'news' | 'time' | 'closing';

/** A place of one reader, taken before its first read and given back by `leave`. */
export type Waiter = {
  /** Waits for news since the last wait, for so many milliseconds, or until the reader has gone. */
  next(ms: number): Promise<Woken>;
  /** All that was committed before this time and matches has woken the reader; undefined until that is known. */
  completeUntil(): Date | undefined;
  leave(): void;
};

type Place = { hasNews: boolean; wake: (() => void) | undefined };

/** `isNew` until a look has begun that covers the tenant. */
type Tenant = {
  count: number;
  isNew: boolean;
  completeUntil: Date | undefined;
  places: Map<string, Set<Place>>;
};

export type EventWaitersNeeds = {
  database: Pick<Database, 'query'>;
  listen?: ((onNotice: (text?: string) => void) => { close(): Promise<void> }) | undefined;
  onFailure?: ((error: unknown) => void) | undefined;
  look?: typeof lookStore.look | undefined;
  settings?: Partial<WaiterSettings> | undefined;
};

/**
 * Makes the places of readers that wait. The listener and the looks begin with the first reader.
 * @param options.listen opens the connection for notifications of other processes, and of this one
 * @param options.onFailure receives the error of a look
 */
export function createEventWaiters({
  database,
  listen,
  onFailure = () => undefined,
  look = lookStore.look,
  settings = {},
}: EventWaitersNeeds) {
  const { most, lookEvery } = { ...WAITER_SETTINGS, ...settings };
  const room = createRoom(most);
  const tenants = new Map<string, Tenant>();
  let position: SnapshotPosition | undefined;
  let isEnding = false;
  let listener: { close(): Promise<void> } | undefined;
  let looking: RunningLoop | undefined;

  async function lookOnce(): Promise<void> {
    if (tenants.size === 0) {
      position = undefined;
      return;
    }
    const covered = [...tenants];
    const before = position;
    const { position: after, next, readAt, news } = await look(database, [...tenants.keys()], before);
    // A database that has fewer transactions than before was replaced.
    const isReplaced = before !== undefined && next <= before.xid;
    position = isReplaced ? undefined : after;
    wakeMatching(tenants, news);
    const isFirst = before === undefined || isReplaced;
    for (const [id, tenant] of covered) {
      if (tenants.get(id) !== tenant) continue;
      // Its readers have read before there was a look to count from: they read once more.
      if (isFirst || tenant.isNew) wakeReaders(tenant, tenant.places.keys());
      tenant.isNew = false;
      tenant.completeUntil = readAt;
    }
  }

  const loop = createLoop({ run: lookOnce, next: lookEvery, first: lookEvery, onFailure });

  function hear(text: string | undefined): void {
    // Some notifications may have been missed: the look finds what they told.
    if (text === undefined) loop.wake();
    else wakeMatching(tenants, readNews(text));
  }

  /**
   * Takes a place. @param filters normalised types and patterns @param onEnd is given what gives the place back
   * @throws ServiceError `rate_limited` or `temporarily_unavailable` when client or tenant, or the process, has no
   *   place left
   */
  function join(of: RoomOwner, filters: readonly string[], onEnd: Hold['onEnd']): Waiter {
    const giveBack = room.take(of, 1);
    if (giveBack === undefined) throw tooMany(room.fullFor(of) ?? 'process');
    const { tenant: tenantId } = of;
    const tenant = tenants.get(tenantId) ?? newTenant();
    tenants.set(tenantId, tenant);
    const place: Place = { hasNews: false, wake: undefined };
    tenant.count += 1;
    for (const filter of filters) addTo(tenant.places, filter, place);
    if (!isEnding) {
      listener ??= listen?.(hear);
      looking ??= loop.start();
    }
    let hasLeft = false;
    const leave = (): void => {
      if (hasLeft) return;
      hasLeft = true;
      giveBack();
      tenant.count -= 1;
      for (const filter of filters) removeFrom(tenant.places, filter, place);
      if (tenant.count === 0) tenants.delete(tenantId);
      place.wake?.();
    };
    // One listener for all waits: a follower waits each second.
    onEnd(leave);
    return {
      next: (ms) => waitAt(place, ms, () => isEnding || hasLeft),
      completeUntil: () => (tenant.isNew || place.hasNews ? undefined : tenant.completeUntil),
      leave,
    };
  }

  return {
    join,
    /** Readers that have a place. */
    size: room.held,
    /** Ends all waits, and each later one as it begins. */
    end: (): void => {
      isEnding = true;
      for (const tenant of tenants.values()) wakeReaders(tenant, tenant.places.keys());
    },
    close: async (): Promise<void> => {
      await Promise.all([looking?.stop(), listener?.close()]);
    },
  };
}

export type EventWaiters = ReturnType<typeof createEventWaiters>;

const newTenant = (): Tenant => ({ count: 0, isNew: true, completeUntil: undefined, places: new Map() });

function wakeMatching(tenants: ReadonlyMap<string, Tenant>, news: readonly TenantNews[]): void {
  for (const { tenantId, types } of news) {
    const tenant = tenants.get(tenantId);
    if (tenant === undefined) continue;
    wakeReaders(tenant, types === undefined ? tenant.places.keys() : types.flatMap(filterCandidates));
  }
}

/** Wakes each reader with one of the filters, once. */
function wakeReaders({ places }: Tenant, filters: Iterable<string>): void {
  const readers = new Set<Place>();
  for (const filter of filters) for (const place of places.get(filter) ?? []) readers.add(place);
  for (const place of readers) {
    place.hasNews = true;
    place.wake?.();
  }
}

function waitAt(place: Place, ms: number, isClosing: () => boolean): Promise<Woken> {
  return new Promise((resolve) => {
    const settle = (): void => {
      clearTimeout(timer);
      place.wake = undefined;
      const woken = isClosing() ? 'closing' : place.hasNews ? 'news' : 'time';
      if (woken === 'news') place.hasNews = false;
      resolve(woken);
    };
    const timer = setTimeout(settle, ms);
    place.wake = settle;
    if (place.hasNews || isClosing()) settle();
  });
}

function addTo(places: Map<string, Set<Place>>, filter: string, place: Place): void {
  const some = places.get(filter);
  if (some === undefined) places.set(filter, new Set([place]));
  else some.add(place);
}

function removeFrom(places: Map<string, Set<Place>>, filter: string, place: Place): void {
  const some = places.get(filter);
  some?.delete(place);
  if (some?.size === 0) places.delete(filter);
}

function tooMany(whose: keyof RoomBounds): ServiceError {
  return new ServiceError(whose === 'process' ? 'temporarily_unavailable' : 'rate_limited', {
    detail: `Too many readers of this ${whose} wait for events here already.`,
    retryAfterSeconds: 5,
  });
}
