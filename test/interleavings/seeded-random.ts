// Choices that a seed decides.

export type SeededRandom = ReturnType<typeof createRandom>;

/** Mulberry32: 32 bits of state are enough for some hundred choices. */
export function createRandom(seed: number) {
  let state = Math.imul(seed + 1, 0x9e37_79b9) >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b_79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (limit: number): number => Math.floor(next() * limit);
  return {
    below,
    chance: (probability: number): boolean => next() < probability,
    /** @throws when there is nothing to pick from */
    pick: <T>(from: readonly T[]): T => {
      const picked = from[below(from.length)];
      if (picked === undefined) throw new Error('nothing to pick from');
      return picked;
    },
    /** Some of them, each once, in any order. */
    some: <T>(from: readonly T[], count: number): T[] => {
      const left = [...from];
      return Array.from({ length: Math.min(count, left.length) }, () =>
        left.splice(below(left.length), 1),
      ).flat();
    },
  };
}
