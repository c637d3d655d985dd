// How many slots are left, and for whom: what is not known to be fast may never take all of them. Pure.

/** How an endpoint's receiver answers: known to be fast, known to be slow, or neither (new, or failing quickly). */
export type Pace = 'fast' | 'unproven' | 'slow';

/**
 * Counts that lie in each other: `slow` for slow endpoints alone, `unproven` for them and the unproven ones together, `fast` for all. What
 * the first two do not reach is kept for whoever answers at once.
 */
export type Room = Readonly<Record<Pace, number>>;

/** The counts in which an endpoint of that pace is counted, the widest first. */
const COUNTED_IN: Readonly<Record<Pace, readonly Pace[]>> = {
  fast: ['fast'],
  unproven: ['fast', 'unproven'],
  slow: ['fast', 'unproven', 'slow'],
};

/** Slots that an endpoint of this pace may still get; never less than 0. */
export function roomFor(room: Room, pace: Pace): number {
  return Math.max(0, Math.min(...COUNTED_IN[pace].map((count) => room[count])));
}

/** What is left after an endpoint of this pace got `slots`; a negative number gives them back. */
export function without(room: Room, pace: Pace, slots: number): Room {
  const left = { ...room };
  for (const count of COUNTED_IN[pace]) left[count] -= slots;
  return left;
}
