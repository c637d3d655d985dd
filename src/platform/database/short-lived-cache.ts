// Keeps values from the database for a few seconds. Not for states of agents, keys, clients and secrets, which must be
// current at each use.
import { createBoundedCache } from '../bounded-cache.ts';
import { within } from '../within.ts';

/**
 * Milliseconds. `most`: the greatest age of a value that is used because no newer one can be read. `patience`: the
 * longest wait for a newer one.
 */
export type Staleness = { readonly most: number; readonly patience: number };

/** What `getOrOld` allows. */
const ANY_AGE: Staleness = { most: Number.POSITIVE_INFINITY, patience: 1_000 };

type Known<Value> = { readonly value: Value; readonly at: number };

/**
 * Creates a cache. Concurrent callers without a cached value share one load.
 * @param load reads the value of a key; its error reaches every caller that gets no stale value, and is not kept
 * @param lifetime milliseconds for which a value is used
 * @param stale by default `get` uses no value beyond its lifetime
 * @param limit greatest number of entries; the least recently read entry is removed first
 * @param keep decides whether a value is kept; by default every value
 * @param now a monotonic clock in milliseconds
 */
export function createShortLivedCache<Value>({
  load,
  lifetime,
  stale,
  limit,
  keep = () => true,
  now = () => performance.now(),
}: {
  load: (key: string) => Promise<Value>;
  lifetime: number;
  stale?: Staleness | undefined;
  limit: number;
  keep?: ((value: Value) => boolean) | undefined;
  now?: (() => number) | undefined;
}) {
  const entries = createBoundedCache<{ readonly reading: Promise<Value>; readonly at: number }>({ limit });
  // The values that were read last, however old, until they are forgotten.
  const old = createBoundedCache<Known<Value>>({ limit });

  const isUsable = (known: Known<Value> | undefined, allowed: Staleness | undefined): known is Known<Value> =>
    known !== undefined && allowed !== undefined && now() - known.at < allowed.most;

  const forget = (key: string): void => {
    entries.forget(key);
    old.forget(key);
  };

  const read = (key: string) => {
    const entry = { reading: load(key), at: now() };
    entries.set(key, entry);
    const isCurrent = () => entries.peek(key) === entry;
    entry.reading.then(
      (value) => {
        if (!isCurrent()) return;
        if (keep(value)) old.set(key, { value, at: entry.at });
        else forget(key);
      },
      // With a value that may still be used, the entry stays, and the next read begins after its lifetime.
      () => {
        if (isCurrent() && !isUsable(old.peek(key), stale)) entries.forget(key);
      },
    );
    return entry;
  };

  /** The value at most `maxAge` old; a stale one, as far as `allowed`, when it cannot be read in time. */
  const getWithin = (key: string, maxAge: number, allowed: Staleness | undefined): Promise<Value> => {
    const found = entries.peek(key);
    const { reading, at } = found !== undefined && now() - found.at < maxAge ? found : read(key);
    const known = old.peek(key);
    if (known?.at === at || !isUsable(known, allowed) || allowed === undefined) return reading;
    const useKnown = () => known.value;
    return within(allowed.patience, reading.catch(useKnown), useKnown);
  };

  return {
    /** @returns the value, at most `maxAge` milliseconds old (by default the cache's lifetime), or a stale one */
    get: (key: string, maxAge: number = lifetime): Promise<Value> => getWithin(key, maxAge, stale),

    /** @returns the value; the one that was read last while the database does not answer */
    getOrOld: (key: string): Promise<Value> => getWithin(key, lifetime, ANY_AGE),

    forget,
  };
}
