// A map that forgets what was used longest ago. It must never grow beyond its limit.

/**
 * Creates a least-recently-used cache. Source of the order: a JavaScript Map iterates in the order of insertion.
 * @param limit the greatest number of entries, at least 1.
 */
export function createBoundedCache<Value>({ limit }: { limit: number }) {
  const entries = new Map<string, Value>();
  return {
    /** The value of `key`; made by `load`, and kept, when it is not there. What `load` throws is passed on, and not kept. */
    get(key: string, load: () => Value): Value {
      const known = entries.get(key);
      const value = known === undefined ? load() : known;
      entries.delete(key);
      entries.set(key, value);
      if (entries.size > limit) {
        const oldest = entries.keys().next();
        if (oldest.done !== true) entries.delete(oldest.value);
      }
      return value;
    },
    /** Drops the value of `key`. */
    forget: (key: string): void => void entries.delete(key),
    /** The number of entries. */
    size: () => entries.size,
  };
}
