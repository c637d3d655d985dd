// Counts free slots by the pace of endpoints. Endpoints that are not known to be fast get only a part of the slots.
// Pure.

/** How an endpoint's receiver answers. `unproven`: the endpoint is new, or fails quickly. */
export type Pace = 'fast' | 'unproven' | 'slow';

/**
 * Nested counts: `slow` is for slow endpoints alone, `unproven` for slow and unproven endpoints together, `fast` for
 * all endpoints. The differences between the counts are reserved for faster endpoints.
 */
export type Room = Readonly<Record<Pace, number>>;

const COUNTED_IN: Readonly<Record<Pace, readonly Pace[]>> = {
  fast: ['fast'],
  unproven: ['fast', 'unproven'],
  slow: ['fast', 'unproven', 'slow'],
};

/** @returns how many slots an endpoint of this pace may still get, 0 or more */
export function roomFor(room: Room, pace: Pace): number {
  return Math.max(0, Math.min(...COUNTED_IN[pace].map((count) => room[count])));
}

/** @returns the room after an endpoint of this pace got `slots`; a negative number gives slots back */
export function without(room: Room, pace: Pace, slots: number): Room {
  const left = { ...room };
  for (const count of COUNTED_IN[pace]) left[count] -= slots;
  return left;
}
