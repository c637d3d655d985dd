// A map of limited size that removes the least recently used entry.

/**
 * Creates the cache. A JavaScript Map iterates in the order of insertion, so its first entry is the least recently
 * used.
 * @param limit the greatest number of entries, at least 1
 */
export function createBoundedCache<Value>({ limit }: { limit: number }) {
  const entries = new Map<string, Value>();

  const set = (key: string, value: Value): void => {
    entries.delete(key);
    entries.set(key, value);
    if (entries.size <= limit) return;
    const oldest = entries.keys().next();
    if (oldest.done !== true) entries.delete(oldest.value);
  };

  return {
    /**
     * Returns the value of `key`, which `load` makes if it is missing. An error of `load` is passed on and not kept.
     */
    get(key: string, load: () => Value): Value {
      const known = entries.get(key);
      const value = known === undefined ? load() : known;
      set(key, value);
      return value;
    },

    /** The value of `key`; does not count as a use. */
    peek: (key: string): Value | undefined => entries.get(key),

    set,

    forget: (key: string): void => void entries.delete(key),

    size: () => entries.size,
  };
}
