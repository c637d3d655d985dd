// Reads new revocations into the memory of a process, page by page, within a second of their commit. Each answer tells
// the database's time, too.
// docs/decisions/0044-times-of-tokens.md

import type { Database } from '../../platform/database/database.ts';
import type { DatabaseClock } from '../../platform/database/database-clock.ts';
import { createLoop, type RunningLoop } from '../../platform/process/loop.ts';
import { Service } from '../../platform/service.ts';
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
  /** Opens a listener for notifications. It only saves time, because the next poll finds the rows too. */
  listen: (onNotice: () => void) => { close(): Promise<void> } | undefined;
  /** Receives the error of the first of several failed reads. */
  onError: (error: unknown) => void;
  /**
   * Receives for each revocation the seconds from the making of the first of its page to the read; not for those
   * before the first reads.
   */
  onRead?: ((seconds: number) => void) | undefined;
  clock: Pick<DatabaseClock, 'observe' | 'now' | 'monotonic'>;
};

export class RevocationReader extends Service<RevocationReaderNeeds> {
  readonly #now = this.needs.clock.monotonic;
  #position = this.needs.store.POSITIONS.start;
  #readAt = Number.NEGATIVE_INFINITY;
  #forgotAt = this.#now();
  #askedAt = this.#readAt;
  #isFailing = false;
  /** The database's time from which on all that is made must be read in time. */
  #readsSince = Number.POSITIVE_INFINITY;
  #running: RunningLoop | undefined;
  #listener: { close(): Promise<void> } | undefined;
  readonly #loop = createLoop({
    run: () => this.#poll(),
    next: (hasMore) => (hasMore === true ? 0 : Math.max(0, POLL_INTERVAL - (this.#now() - this.#askedAt))),
    onFailure: (error) => {
      if (!this.#isFailing) this.needs.onError(error);
      this.#isFailing = true;
    },
  });

  /** Returns whether the memory has all that was committed until a moment ago. */
  isFresh = (): boolean => this.#now() - this.#readAt <= STALE_AFTER;

  /** Begins to read every 250 ms. */
  start = (): void => {
    this.#listener = this.needs.listen(this.#loop.wake);
    this.#running = this.#loop.start();
  };

  /** Stops the reads; the memory is not fresh from then on. Call it before the database closes. */
  close = async (): Promise<void> => {
    await Promise.all([this.#running?.stop(), this.#listener?.close()]);
    this.#readAt = Number.NEGATIVE_INFINITY;
  };

  /**
   * Reads the next page of revocations. The age of a read is counted from its request.
   * @returns whether there may be more
   */
  #poll = async (): Promise<boolean> => {
    this.#askedAt = this.#now();
    const page = await this.needs.store.readPage(this.needs.database, this.#position);
    const { revocations, seen, last, hasMore, isComplete, time } = page;
    this.needs.clock.observe(time, this.#askedAt);
    this.#isFailing = false;
    if (seen.next <= this.#position.xid) {
      // The database was replaced by one with fewer transactions, so all revocations are read again.
      this.#position = this.needs.store.POSITIONS.start;
      this.#readAt = Number.NEGATIVE_INFINITY;
      this.#readsSince = Number.POSITIVE_INFINITY;
      return true;
    }
    this.needs.book.add(revocations, this.needs.clock.now());
    const madeAt = page.madeAt ?? 0;
    if (madeAt >= this.#readsSince) for (const _ of revocations) this.needs.onRead?.((time - madeAt) / 1_000);
    if (isComplete) this.#readsSince = Math.min(this.#readsSince, time);
    this.#position =
      hasMore && last !== undefined
        ? this.needs.store.POSITIONS.afterRow(this.#position, last, seen)
        : this.needs.store.POSITIONS.afterPage(this.#position, last, seen);
    if (isComplete) this.#readAt = this.#askedAt;
    if (this.#askedAt - this.#forgotAt >= FORGET_INTERVAL) {
      this.#forgotAt = this.#askedAt;
      this.needs.book.forget(this.needs.clock.now());
    }
    return hasMore;
  };
}
