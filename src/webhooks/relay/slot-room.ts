// How many slots are left for endpoints of each pace: those not known to be fast get a part of all slots only. Pure.

/** How an endpoint's receiver answers: fast, slow, or unproven (new, or failing quickly). */
export type Pace = 'fast' | 'unproven' | 'slow';

/**
 * Nested counts: `slow` for slow endpoints alone, `unproven` for them and the unproven ones together, `fast` for all. The difference is
 * kept for fast endpoints.
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
