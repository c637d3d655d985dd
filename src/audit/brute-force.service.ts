// Separates guessing from mistakes: many failures in a short time are one episode, also from many addresses and through several
// processes. It refuses no request; the limiters do.

import type { Database } from '../platform/database/database.ts';
import { createShortLivedCache } from '../platform/database/short-lived-cache.ts';
import * as store from './brute-force.store.ts';

/** Seconds in which failures are counted, and without failures after which an episode has ended. */
const WINDOW = 60;

/** Failures within a window that begin an episode. */
const MANY = 10;

/** Milliseconds between two writes of one process for failures that were not counted. */
const WRITE_PAUSE = 1_000;

const MOST_NAMES = 10_000;

/** What began an episode. */
export type Episode = { readonly failures: number; readonly windowSeconds: number };

/**
 * Episodes of brute force. Source: Specification, "Event types" (`security.brute_force.detected`).
 * @param limit failures that the limiter in front allows within a window: with fewer than ten of them, these begin an episode. 0: any number
 */
export function createBruteForceService({
  database,
  limit = 0,
}: {
  database: Pick<Database, 'query'>;
  limit?: number | undefined;
}) {
  const threshold = limit === 0 ? MANY : Math.min(MANY, limit);
  const continued = createShortLivedCache({
    load: (name) => store.prolong(database, name, WINDOW),
    lifetime: WRITE_PAUSE,
    limit: MOST_NAMES,
  });
  return {
    /** Counts a failure; one round trip. @param name whose credential is guessed @returns the episode that it began; each is given once */
    failed: async (name: string): Promise<Episode | undefined> => {
      const { failures, isNew } = await store.count(database, name, { window: WINDOW, threshold });
      return isNew ? { failures, windowSeconds: WINDOW } : undefined;
    },

    /** Notes that failures go on which a limiter refuses and which are not counted; at most one write a second for each name. */
    goesOn: (name: string): Promise<void> => continued.get(name),
  };
}

export type BruteForceService = ReturnType<typeof createBruteForceService>;
