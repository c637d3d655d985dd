// Counts requests in all processes together, without a delay for any request. Each process decides by the counts that
// it knows, and shares its own count after each twentieth of a limit. Without the database each process counts alone.
// docs/decisions/0009-limits.md

import { createCoalescer } from '../database/coalescer.ts';
import type { Database } from '../database/database.ts';
import { type Log, reasonOf } from '../logging.ts';
import type { Admitted, SharedCount } from './limit-counts.store.ts';
import * as limitCountsStore from './limit-counts.store.ts';

/** The fraction of a limit that a process may admit before it shares its count. */
const SHARE = 1 / 20;

/** The most keys of one limit in memory; the oldest are removed first. */
const MOST_KEYS = 100_000;

/** Milliseconds without a further log line after the database failed. */
const PAUSE = 1_000;

/**
 * The points of one key in its current window: known to all processes (`shared`), on the way to the database (`sent`),
 * not shared yet (`own`).
 */
type Entry = { shared: number; sent: number; own: number; endsAt: number };

/** `used`: the points admitted in this window. `milliseconds`: until the window ends. */
type Spending = {
  readonly isAdmitted: boolean;
  readonly used: number;
  readonly milliseconds: number;
};

/**
 * Creates the counts of one process. With P processes, the requests admitted beyond a limit are at most P twentieths of
 * it, plus the requests of one round trip to the database.
 * @param log receives a line for the first of several failures to share counts; this process then counts alone
 * @param now a monotonic clock in milliseconds
 */
export function createLimitCounts({
  store = limitCountsStore,
  database,
  log,
  now = () => performance.now(),
}: {
  store?: Pick<typeof limitCountsStore, 'add'> | undefined;
  database: Pick<Database, 'query'>;
  log: Log<'warn'>;
  now?: (() => number) | undefined;
}) {
  const settlements = createCoalescer<Admitted, SharedCount>({
    run: (batch) => store.add(database, batch),
    limits: { batches: 1 },
  });
  let pausedUntil = Number.NEGATIVE_INFINITY;
  let isFailing = false;

  return {
    /**
     * Opens the counter of a limit.
     * @param name distinguishes limits
     * @param points the limit
     * @param window in milliseconds; the first request of a key begins it
     */
    open({ name, points, window }: { name: string; points: number; window: number }) {
      const entries = new Map<string, Entry>();
      const share = Math.max(1, Math.ceil(points * SHARE));

      function find(key: string, time: number): Entry {
        const known = entries.get(key);
        if (known !== undefined && known.endsAt > time) return known;
        entries.delete(key);
        makeRoom(entries, time);
        const entry = { shared: 0, sent: 0, own: 0, endsAt: time + window };
        entries.set(key, entry);
        return entry;
      }

      function tellWhenDue(key: string, entry: Entry): void {
        const time = now();
        if (entry.own < share || entry.sent > 0 || time < pausedUntil || time >= entry.endsAt) return;
        entry.sent = entry.own;
        entry.own = 0;
        const admitted = { key: `${name}:${key}`, count: entry.sent, milliseconds: entry.endsAt - time };
        settlements.add(admitted).then(
          ({ count, milliseconds }) => {
            isFailing = false;
            Object.assign(entry, { shared: count, sent: 0, endsAt: now() + milliseconds });
            tellWhenDue(key, entry);
          },
          (error: unknown) => {
            entry.own += entry.sent;
            entry.sent = 0;
            pausedUntil = now() + PAUSE;
            if (!isFailing)
              log.warn(
                { event: 'limits.requests_not_shared', reason: reasonOf(error) },
                'requests are counted in this process only',
              );
            isFailing = true;
          },
        );
      }

      return {
        /**
         * Admits a request of this cost if the limit has enough points left, without a round trip. A refused request
         * does not count.
         */
        spend(key: string, cost: number): Spending {
          const time = now();
          const entry = find(key, time);
          const used = entry.shared + entry.sent + entry.own;
          const milliseconds = entry.endsAt - time;
          if (used + cost > points) return { isAdmitted: false, used, milliseconds };
          entry.own += cost;
          tellWhenDue(key, entry);
          return { isAdmitted: true, used: used + cost, milliseconds };
        },

        /** Whether a point of the key is left. */
        hasLeft(key: string): boolean {
          const entry = entries.get(key);
          if (entry === undefined || entry.endsAt <= now()) return true;
          return entry.shared + entry.sent + entry.own < points;
        },

        /** Counts a further cost of what was admitted, even beyond the limit. */
        charge(key: string, cost: number): void {
          const entry = find(key, now());
          entry.own += cost;
          tellWhenDue(key, entry);
        },

        /** Takes an admitted request of this cost out of the count again, if its window has not ended. */
        giveBack(key: string, cost: number): void {
          const entry = entries.get(key);
          if (entry === undefined || entry.endsAt <= now()) return;
          if (entry.shared + entry.sent + entry.own >= cost) entry.own -= cost;
        },
      };
    },

    /** Waits until all sent counts are written. Called before the database closes. */
    settled: (): Promise<void> => settlements.drain(),
  };
}

export type LimitCounts = ReturnType<typeof createLimitCounts>;

/** Removes a few ended windows, and the oldest entries beyond the limit. */
function makeRoom(entries: Map<string, Entry>, time: number): void {
  let looked = 0;
  for (const [key, { endsAt }] of entries) {
    if (endsAt > time && entries.size < MOST_KEYS) break;
    entries.delete(key);
    looked += 1;
    if (looked === 2) break;
  }
}
