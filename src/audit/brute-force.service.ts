// Separates guessing from mistakes: many failures in a short time are one episode, also from many addresses and through
// several processes. It refuses no request; the limiters do that.

import type { Database } from '../platform/database/database.ts';
import { createShortLivedCache } from '../platform/database/short-lived-cache.ts';
import * as store from './brute-force.store.ts';

/** Length in seconds of the window in which failures are counted; an episode ends after a window without failures. */
const WINDOW = 60;

/** Failures within a window that begin an episode. */
const MANY = 10;

/** Least milliseconds between two writes of one process for failures that are not counted. */
const WRITE_PAUSE = 1_000;

const MOST_NAMES = 10_000;

/** The failures that began an episode. */
export type Episode = { readonly failures: number; readonly windowSeconds: number };

/**
 * Episodes of brute force. Source: Specification, "Event types" (`security.brute_force.detected`).
 * @param limit failures that the limiter of these requests allows in a window; when it is below ten, that many begin an
 *   episode. 0: no limit
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
    /**
     * Counts a failure; one round trip.
     * @param name the owner of the guessed credential
     * @returns the episode that this failure began; each episode is returned once
     */
    failed: async (name: string): Promise<Episode | undefined> => {
      const { failures, isNew } = await store.count(database, name, { window: WINDOW, threshold });
      return isNew ? { failures, windowSeconds: WINDOW } : undefined;
    },

    /**
     * Records that failures continue which a limiter refuses and which are not counted; at most one write a second for
     * each name.
     */
    goesOn: (name: string): Promise<void> => continued.get(name),
  };
}

export type BruteForceService = ReturnType<typeof createBruteForceService>;
