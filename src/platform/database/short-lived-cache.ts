// Keeps values from the database for a few seconds. Not for states of agents, keys, clients and secrets, which must be
// current at each use.
import { setTimeout as sleep } from 'node:timers/promises';
import { createBoundedCache } from '../bounded-cache.ts';

/** Milliseconds to wait for the database before an old value is used. */
const PATIENCE = 1_000;

/**
 * Creates a cache. Concurrent callers without a cached value share one load.
 * @param load reads the value of a key; its error reaches every caller and is not kept
 * @param lifetime milliseconds for which a value is used
 * @param limit greatest number of entries; the least recently read entry is removed first
 * @param keep decides whether a value is kept; by default every value
 * @param now a monotonic clock in milliseconds
 */
export function createShortLivedCache<Value>({
  load,
  lifetime,
  limit,
  keep = () => true,
  now = () => performance.now(),
}: {
  load: (key: string) => Promise<Value>;
  lifetime: number;
  limit: number;
  keep?: ((value: Value) => boolean) | undefined;
  now?: (() => number) | undefined;
}) {
  const entries = createBoundedCache<{ readonly value: Promise<Value>; readonly at: number }>({ limit });
  // The values that were read last, however old, until they are forgotten.
  const old = createBoundedCache<{ readonly value: Value }>({ limit });

  function read(key: string): Promise<Value> {
    const entry = { value: load(key), at: now() };
    entries.set(key, entry);
    const drop = () => {
      if (entries.peek(key) === entry) entries.forget(key);
    };
    entry.value.then((value) => {
      if (entries.peek(key) !== entry) return;
      if (keep(value)) {
        old.set(key, { value });
        return;
      }
      drop();
      old.forget(key);
    }, drop);
    return entry.value;
  }

  /** @returns the value, at most `maxAge` milliseconds old (by default the cache's lifetime) */
  const get = (key: string, maxAge: number = lifetime): Promise<Value> => {
    const entry = entries.peek(key);
    return entry !== undefined && now() - entry.at < maxAge ? entry.value : read(key);
  };

  return {
    get,

    /** @returns the value; the one that was read last while the database does not answer */
    getOrOld: async (key: string): Promise<Value> => {
      const current = get(key);
      const last = old.peek(key);
      if (last === undefined) return current;
      const answered = new AbortController();
      const late = sleep(PATIENCE, last.value, { signal: answered.signal }).catch(() => last.value);
      try {
        return await Promise.race([current.catch(() => last.value), late]);
      } finally {
        answered.abort();
      }
    },

    forget: (key: string): void => {
      entries.forget(key);
      old.forget(key);
    },
  };
}
