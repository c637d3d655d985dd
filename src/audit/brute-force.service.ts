// Detects brute force: many failures in a short time are one episode, even from many addresses and on several
// processes. This service refuses no request. The rate limiters do that.

import type { Database } from '../platform/database/database.ts';
import { createShortLivedCache } from '../platform/database/short-lived-cache.ts';
import { Service } from '../platform/service.ts';
import * as store from './brute-force.store.ts';

/** Seconds of the window in which failures are counted. An episode ends after one window without failures. */
const WINDOW = 60;

/** Number of failures within one window that begins an episode. */
const MANY = 10;

/** Milliseconds between two writes of this process for failures that are not counted. */
const WRITE_PAUSE = 1_000;

const MOST_NAMES = 10_000;

export type Episode = { readonly failures: number; readonly windowSeconds: number };

/** Creates the detector of brute force. Source: Specification, "Event types" (`security.brute_force.detected`). */
export class BruteForceService extends Service<{
  database: Pick<Database, 'query'>;
  /**
   * Number of failures that the rate limiter of these requests allows in a window; 0 means no limit. Below ten,
   * an episode begins at this number, because the limiter refuses further requests.
   */
  limit?: number | undefined;
}> {
  readonly #limit = this.needs.limit ?? 0;
  readonly #threshold = this.#limit === 0 ? MANY : Math.min(MANY, this.#limit);
  readonly #continued = createShortLivedCache({
    load: (name) => store.prolong(this.needs.database, name, WINDOW),
    lifetime: WRITE_PAUSE,
    limit: MOST_NAMES,
  });

  /**
   * Counts a failure in one round trip.
   * @param name the owner of the guessed credential
   * @returns the episode that this failure began. Each episode is returned once.
   */
  failed = async (name: string): Promise<Episode | undefined> => {
    const { failures, isNew } = await store.count(this.needs.database, name, WINDOW, this.#threshold);
    return isNew ? { failures, windowSeconds: WINDOW } : undefined;
  };

  /** Extends the episode after a failure that a rate limiter refused; at most one write a second for each name. */
  goesOn = (name: string): Promise<void> => this.#continued.get(name);
}
