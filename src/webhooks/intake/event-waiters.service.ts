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
import { Service } from '../../platform/service.ts';
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
  /** Opens the connection for notifications of other processes, and of this one. */
  listen?: ((onNotice: (text?: string) => void) => { close(): Promise<void> }) | undefined;
  /** Receives the error of a look. */
  onFailure?: ((error: unknown) => void) | undefined;
  look?: typeof lookStore.look | undefined;
  settings?: Partial<WaiterSettings> | undefined;
};

/** Makes the places of readers that wait. The listener and the looks begin with the first reader. */
export class EventWaiters extends Service<EventWaitersNeeds> {
  readonly #onFailure = this.needs.onFailure ?? (() => undefined);
  readonly #look = this.needs.look ?? lookStore.look;
  readonly #bounds = { ...WAITER_SETTINGS, ...this.needs.settings };
  readonly #room = createRoom(this.#bounds.most);
  readonly #tenants = new Map<string, Tenant>();
  #position: SnapshotPosition | undefined;
  #isEnding = false;
  #listener: { close(): Promise<void> } | undefined;
  #looking: RunningLoop | undefined;
  readonly #loop = createLoop({
    run: () => this.#lookOnce(),
    next: this.#bounds.lookEvery,
    first: this.#bounds.lookEvery,
    onFailure: this.#onFailure,
  });

  /**
   * Takes a place. @param filters normalised types and patterns @param onEnd is given what gives the place back
   * @throws ServiceError `rate_limited` or `temporarily_unavailable` when client or tenant, or the process, has no
   *   place left
   */
  join = (of: RoomOwner, filters: readonly string[], onEnd: Hold['onEnd']): Waiter => {
    const giveBack = this.#room.take(of, 1);
    if (giveBack === undefined) throw tooMany(this.#room.fullFor(of) ?? 'process');
    const { tenant: tenantId } = of;
    const tenant = this.#tenants.get(tenantId) ?? newTenant();
    this.#tenants.set(tenantId, tenant);
    const place: Place = { hasNews: false, wake: undefined };
    tenant.count += 1;
    for (const filter of filters) addTo(tenant.places, filter, place);
    if (!this.#isEnding) {
      this.#listener ??= this.needs.listen?.(this.#hear);
      this.#looking ??= this.#loop.start();
    }
    let hasLeft = false;
    const leave = (): void => {
      if (hasLeft) return;
      hasLeft = true;
      giveBack();
      tenant.count -= 1;
      for (const filter of filters) removeFrom(tenant.places, filter, place);
      if (tenant.count === 0) this.#tenants.delete(tenantId);
      place.wake?.();
    };
    // One listener for all waits: a follower waits each second.
    onEnd(leave);
    return {
      next: (ms) => waitAt(place, ms, () => this.#isEnding || hasLeft),
      completeUntil: () => (tenant.isNew || place.hasNews ? undefined : tenant.completeUntil),
      leave,
    };
  };

  /** Readers that have a place. */
  size = this.#room.held;

  /** Ends all waits, and each later one as it begins. */
  end = (): void => {
    this.#isEnding = true;
    for (const tenant of this.#tenants.values()) wakeReaders(tenant, tenant.places.keys());
  };

  /** Stops the looks and the listener. */
  close = async (): Promise<void> => {
    await Promise.all([this.#looking?.stop(), this.#listener?.close()]);
  };

  #lookOnce = async (): Promise<void> => {
    if (this.#tenants.size === 0) {
      this.#position = undefined;
      return;
    }
    const covered = [...this.#tenants];
    const before = this.#position;
    const {
      position: after,
      next,
      readAt,
      news,
    } = await this.#look(this.needs.database, [...this.#tenants.keys()], before);
    // A database that has fewer transactions than before was replaced.
    const isReplaced = before !== undefined && next <= before.xid;
    this.#position = isReplaced ? undefined : after;
    wakeMatching(this.#tenants, news);
    const isFirst = before === undefined || isReplaced;
    for (const [id, tenant] of covered) {
      if (this.#tenants.get(id) !== tenant) continue;
      // Its readers have read before there was a look to count from: they read once more.
      if (isFirst || tenant.isNew) wakeReaders(tenant, tenant.places.keys());
      tenant.isNew = false;
      tenant.completeUntil = readAt;
    }
  };

  #hear = (text: string | undefined): void => {
    // Some notifications may have been missed: the look finds what they told.
    if (text === undefined) this.#loop.wake();
    else wakeMatching(this.#tenants, readNews(text));
  };
}

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
