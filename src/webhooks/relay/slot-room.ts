// The free slots for endpoints of each pace: endpoints that are not known to be fast get only a part of all slots.
// Pure.

/** How an endpoint's receiver answers: fast, slow, or unproven (new, or failing quickly). */
export type Pace = 'fast' | 'unproven' | 'slow';

/**
 * Nested counts: `slow` for slow endpoints alone, `unproven` for slow and unproven endpoints together, `fast` for all.
 * The difference between the counts is reserved for faster endpoints.
 */
export type Room = Readonly<Record<Pace, number>>;

/** The counts that include an endpoint of that pace, the widest first. */
const COUNTED_IN: Readonly<Record<Pace, readonly Pace[]>> = {
  fast: ['fast'],
  unproven: ['fast', 'unproven'],
  slow: ['fast', 'unproven', 'slow'],
};

/** Slots that an endpoint of this pace may still get; never less than 0. */
export function roomFor(room: Room, pace: Pace): number {
  return Math.max(0, Math.min(...COUNTED_IN[pace].map((count) => room[count])));
}

/** The room after an endpoint of this pace got `slots`; a negative number gives slots back. */
export function without(room: Room, pace: Pace, slots: number): Room {
  const left = { ...room };
  for (const count of COUNTED_IN[pace]) left[count] -= slots;
  return left;
}
