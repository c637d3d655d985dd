// Remembers what was read from the database for a few seconds. It must never hold what a request has to see immediately: states of
// agents, keys, clients and their secrets are read each time.
import { createBoundedCache } from '../bounded-cache.ts';

/**
 * Creates a cache in which callers that miss at the same time share one load.
 * @param load reads the value of a key; what it throws reaches every caller and is not kept
 * @param lifetime milliseconds for which a value serves
 * @param limit greatest number of entries; the one that was read longest ago goes first
 * @param keep whether a value may be kept at all (each, unless said)
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
    /** The value, at most `maxAge` milliseconds old (the cache's lifetime unless told). */
    get(key: string, maxAge: number = lifetime): Promise<Value> {
      const entry = entries.peek(key);
      return entry !== undefined && now() - entry.at < maxAge ? entry.value : read(key);
    },
    /** Makes the next `get` of this key read again. */
    forget: entries.forget,
  };
}
