// What a restore takes back: transaction ids that were given before, and for how long nothing is there. Pure.

/** `ids`: the next transaction id, or what is known of how fast ids are used. */
export type IdState = {
  /** The next transaction id of this cluster. */
  readonly next: number;
  /** Ids by which rows are ahead of `next`: of a dump in a new cluster. */
  readonly missing: number;
  /** The most ids a second within an hour of the day before the restore. */
  readonly perSecond: number;
};

/** A restore that was worked on before: `at` is when. */
export type EarlierCheck = { readonly at: Date; readonly restoredTo: Date };

/** Ids for each one that the lost time used at the highest pace of the day before: a burst may have been higher. */
const MARGIN = 10;

/** The fewest ids that are consumed: too many do no harm, and a service without events shows no pace. */
const LEAST = 1_000_000;

/** The most ids that are consumed one by one; some 100,000 take a second. */
export const MOST_CONSUMED = 300_000_000;

/**
 * Returns how many transaction ids to consume, so that none of the lost time is given again.
 * @param asked.lostSeconds from the restored moment until now
 * @param asked.usedUntil the last id that was given before the restore, when an operator knows it
 */
export function planIds(
  { next, missing, perSecond }: IdState,
  { lostSeconds, usedUntil }: { lostSeconds: number; usedUntil?: number | undefined },
): number {
  if (usedUntil !== undefined) return Math.max(missing, usedUntil - next + 1, 0);
  return missing + Math.max(LEAST, Math.ceil(lostSeconds * perSecond * MARGIN));
}
