// How fast an examination goes. Pure.

/** `page`: rows of a page. `atOnce`: workflows asked for at once. Milliseconds: `settle` between two looks, `seen` until a mend must show, `poll` between. */
export type Pace = {
  readonly page: number;
  readonly atOnce: number;
  readonly settle: number;
  readonly seen: number;
  readonly poll: number;
};

export const PACE: Pace = { page: 1_000, atOnce: 16, settle: 2_000, seen: 15_000, poll: 250 };

/** Milliseconds for which work may wait before it counts as stuck. */
export const STUCK_AFTER = 5 * 60_000;
