// How fast an examination runs. Pure.

/**
 * `page`: rows of a page. `atOnce`: workflows that are queried concurrently. Milliseconds: `settle` between the first
 * and the second comparison, `seen` until a mend must have taken effect, `poll` between two polls.
 */
export type Pace = {
  readonly page: number;
  readonly atOnce: number;
  readonly settle: number;
  readonly seen: number;
  readonly poll: number;
};

export const PACE: Pace = { page: 1_000, atOnce: 16, settle: 2_000, seen: 15_000, poll: 250 };

/** Milliseconds after which waiting work counts as stuck. */
export const STUCK_AFTER = 5 * 60_000;
