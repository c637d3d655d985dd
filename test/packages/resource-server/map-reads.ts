// Counts how many pairs of maps are read while something is done: a search of all for each one costs the square.
import { vi } from 'vitest';

export function countMapReads(work: () => void): number {
  let reads = 0;
  const iterate = Map.prototype[Symbol.iterator];
  vi.spyOn(Map.prototype, Symbol.iterator).mockImplementation(function (this: Map<unknown, unknown>) {
    const pairs = iterate.call(this);
    const next = pairs.next.bind(pairs);
    return Object.assign(pairs, {
      next: () => {
        reads += 1;
        return next();
      },
    });
  });
  try {
    work();
  } finally {
    vi.restoreAllMocks();
  }
  return reads;
}
