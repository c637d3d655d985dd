// Keeps values from the database for a few seconds. Not for states of agents, keys, clients and secrets, which must be
// current at each use.
import { createBoundedCache } from '../bounded-cache.ts';

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

  function read(key: string): Promise<Value> {
    const entry = { value: load(key), at: now() };
    entries.set(key, entry);
    const drop = () => {
      if (entries.peek(key) === entry) entries.forget(key);
    };
    entry.value.then((value) => {
      if (!keep(value)) drop();
    }, drop);
    return entry.value;
  }

  return {
    /** @returns the value, at most `maxAge` milliseconds old (by default the cache's lifetime) */
    get(key: string, maxAge: number = lifetime): Promise<Value> {
      const entry = entries.peek(key);
      return entry !== undefined && now() - entry.at < maxAge ? entry.value : read(key);
    },
    forget: entries.forget,
  };
}
