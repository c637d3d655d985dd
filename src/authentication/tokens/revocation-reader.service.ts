// Reads new revocations into the memory of a process, page by page, within a second of their commit. Each answer tells
// the database's time, too.
// docs/decisions/0044-times-of-tokens.md

import type { Database } from '../../platform/database/database.ts';
import type { DatabaseClock } from '../../platform/database/database-clock.ts';
import { createLoop, type RunningLoop } from '../../platform/process/loop.ts';
import type * as revocationStore from './revocation.store.ts';
import type { RevocationBook } from './revocation.ts';

/** Milliseconds between two reads. */
const POLL_INTERVAL = 250;

/** The memory is good when the last successful read is at most this many milliseconds old. */
const STALE_AFTER = 700;

/** Milliseconds after which the memory deletes what has expired. */
const FORGET_INTERVAL = 60_000;

export type RevocationReaderNeeds = {
  store: Pick<typeof revocationStore, 'readPage' | 'POSITIONS'>;
  database: Pick<Database, 'query'>;
  book: Pick<RevocationBook, 'add' | 'forget'>;
  listen: (onNotice: () => void) => { close(): Promise<void> } | undefined;
  onError: (error: unknown) => void;
  onRead?: ((seconds: number) => void) | undefined;
  clock: Pick<DatabaseClock, 'observe' | 'now' | 'monotonic'>;
};

/**
 * @param listen opens a listener for notifications. It only saves time, because the next poll finds the rows too.
 * @param onError receives the error of the first of several failed reads
 * @param onRead receives for each revocation the seconds from the making of the first of its page to the read; not for
 *   those before the first reads
 */
export function createRevocationReader({
  store,
  database,
  book,
  listen,
  onError,
  onRead,
  clock,
}: RevocationReaderNeeds) {
  const now = clock.monotonic;
  let position = store.POSITIONS.start;
  let readAt = Number.NEGATIVE_INFINITY;
  let forgotAt = now();
  let askedAt = readAt;
  let isFailing = false;
  /** The database's time from which on all that is made must be read in time. */
  let readsSince = Number.POSITIVE_INFINITY;
  let running: RunningLoop | undefined;
  let listener: { close(): Promise<void> } | undefined;

  /**
   * Reads the next page of revocations. The age of a read is counted from its request.
   * @returns whether there may be more
   */
  async function poll(): Promise<boolean> {
    askedAt = now();
    const page = await store.readPage(database, position);
    const { revocations, seen, last, hasMore, isComplete, time } = page;
    clock.observe(time, askedAt);
    isFailing = false;
    if (seen.next <= position.xid) {
      // The database was replaced by one with fewer transactions, so all revocations are read again.
      position = store.POSITIONS.start;
      readAt = Number.NEGATIVE_INFINITY;
      readsSince = Number.POSITIVE_INFINITY;
      return true;
    }
    book.add(revocations, clock.now());
    const madeAt = page.madeAt ?? 0;
    if (madeAt >= readsSince) for (const _ of revocations) onRead?.((time - madeAt) / 1_000);
    if (isComplete) readsSince = Math.min(readsSince, time);
    position =
      hasMore && last !== undefined
        ? store.POSITIONS.afterRow(position, last, seen)
        : store.POSITIONS.afterPage(position, last, seen);
    if (isComplete) readAt = askedAt;
    if (askedAt - forgotAt >= FORGET_INTERVAL) {
      forgotAt = askedAt;
      book.forget(clock.now());
    }
    return hasMore;
  }

  const loop = createLoop({
    run: poll,
    next: (hasMore) => (hasMore === true ? 0 : Math.max(0, POLL_INTERVAL - (now() - askedAt))),
    onFailure: (error) => {
      if (!isFailing) onError(error);
      isFailing = true;
    },
  });

  return {
    /** Returns whether the memory has all that was committed until a moment ago. */
    isFresh: (): boolean => now() - readAt <= STALE_AFTER,

    /** Begins to read every 250 ms. */
    start: (): void => {
      listener = listen(loop.wake);
      running = loop.start();
    },

    /** Stops the reads; the memory is not fresh from then on. Call it before the database closes. */
    close: async (): Promise<void> => {
      await Promise.all([running?.stop(), listener?.close()]);
      readAt = Number.NEGATIVE_INFINITY;
    },
  };
}
