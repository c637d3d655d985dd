// A Bloom filter: remembers of any number of ids that they were added, in a memory of one size. Pure.

/** Bits of the memory, 2 MiB: of a million ids that were added, 1 in 500 others is taken for one of them. */
const BITS = 2 ** 24;

/** Bits of an id. */
const HASHES = 6;

export type BloomFilter = ReturnType<typeof createBloomFilter>;

/**
 * Source: B. H. Bloom, "Space/time trade-offs in hash coding with allowable errors", 1970; two hashes make all of them
 * (A. Kirsch, M. Mitzenmacher, 2006).
 * @param bits a power of two
 */
export function createBloomFilter(bits = BITS) {
  const bytes = new Uint8Array(bits / 8);
  const placesOf = (id: string): number[] => {
    const [first, second] = [hashOf(id, 0x811c9dc5), hashOf(id, 0x9e3779b9) | 1];
    return Array.from({ length: HASHES }, (_, n) => ((first + Math.imul(n, second)) >>> 0) % bits);
  };
  return {
    add: (id: string): void => {
      for (const place of placesOf(id)) bytes[place >> 3] = (bytes[place >> 3] ?? 0) | (1 << (place & 7));
    },

    /** Returns true for each id that was added, and for few others. */
    has: (id: string): boolean =>
      placesOf(id).every((place) => ((bytes[place >> 3] ?? 0) & (1 << (place & 7))) !== 0),
  };
}

/** FNV-1a, and the last steps of MurmurHash3, so that each bit depends on all of the id. */
function hashOf(id: string, seed: number): number {
  let hash = seed;
  for (let n = 0; n < id.length; n += 1) hash = Math.imul(hash ^ id.charCodeAt(n), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
