// The cache implementation of the process: a map of limited size that removes the entry which was used or written least
// recently.

/**
 * Creates a least-recently-used cache. The order is that of a JavaScript Map, which iterates in the order of insertion.
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
     * The value of `key`; if it is missing, `load` makes it, and it is kept. An error of `load` is passed on, and not
     * kept.
     */
    get(key: string, load: () => Value): Value {
      const known = entries.get(key);
      const value = known === undefined ? load() : known;
      set(key, value);
      return value;
    },

    /** The value of `key`, which does not count as a use. */
    peek: (key: string): Value | undefined => entries.get(key),

    /** Keeps a value, in place of the one before. */
    set,

    /** Drops the value of `key`. */
    forget: (key: string): void => void entries.delete(key),

    /** The number of entries. */
    size: () => entries.size,
  };
}
