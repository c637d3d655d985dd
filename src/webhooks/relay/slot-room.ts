// Counts free slots by the speed of endpoints. Endpoints that are not known to be fast get only a part of the slots.
// Pure.

/** How an endpoint's receiver answers. `unproven`: the endpoint is new, or fails quickly. */
export type Speed = 'fast' | 'unproven' | 'slow';

/**
 * Nested counts: `slow` is for slow endpoints alone, `unproven` for slow and unproven endpoints together, `fast` for
 * all endpoints. The differences between the counts are reserved for faster endpoints.
 */
export type Room = Readonly<Record<Speed, number>>;

const COUNTED_IN: Readonly<Record<Speed, readonly Speed[]>> = {
  fast: ['fast'],
  unproven: ['fast', 'unproven'],
  slow: ['fast', 'unproven', 'slow'],
};

/** @returns how many slots an endpoint of this speed may still get, 0 or more */
export function roomFor(room: Room, speed: Speed): number {
  return Math.max(0, Math.min(...COUNTED_IN[speed].map((count) => room[count])));
}

/** @returns the room after an endpoint of this speed got `slots`; a negative number gives slots back */
export function without(room: Room, speed: Speed, slots: number): Room {
  const left = { ...room };
  for (const count of COUNTED_IN[speed]) left[count] -= slots;
  return left;
}
