// Remembers fetched key sets, and decides when to fetch again. A key that is too old is not given.
import { createBoundedCache } from '../../platform/bounded-cache.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import { type Log, reasonOf } from '../../platform/logging.ts';
import { selectKey, type TrustedJwk } from './jwk-set.ts';
import type { JwksFetcher } from './jwks.client.ts';
import { STALE } from './jwks-lifetime.ts';

/** Milliseconds from the end of a fetch to the next one that an unknown key, or a failure, may cause. */
const PAUSE = { unknownKey: 30_000, failure: 10_000 } as const;

/** Sets kept in the process. */
const KEPT = 2_000;

type Entry = {
  keys: readonly TrustedJwk[] | undefined;
  freshUntil: number;
  endedAt: number;
  failed: boolean;
  underway: Promise<void> | undefined;
};

/** Where a set comes from; `id` is the trusted issuer's, so that no tenant's traffic paces another's. */
export type KeySource = { readonly id: string; readonly uri: string };

/**
 * Creates the cache. A set is fetched when a key of it is first wanted and again when it is no longer fresh; one fetch
 * a source is under way at a time, and all callers wait for that one. A key that the set does not have causes a fetch,
 * at most one in 30 s, so that tokens with invented key ids cost the issuer nothing.
 * @param log gets a line for each failed fetch
 * @param now a monotonic clock in milliseconds
 */
export function createKeySetCache({
  fetch,
  log,
  now = () => performance.now(),
  limit = KEPT,
}: {
  fetch: JwksFetcher;
  log: Log<'warn'>;
  now?: (() => number) | undefined;
  limit?: number | undefined;
}) {
  const entries = createBoundedCache<Entry>({ limit });

  const entryOf = ({ id, uri }: KeySource): Entry =>
    entries.get(`${id} ${uri}`, () => ({
      keys: undefined,
      freshUntil: 0,
      endedAt: Number.NEGATIVE_INFINITY,
      failed: false,
      underway: undefined,
    }));

  async function load(entry: Entry, source: KeySource): Promise<void> {
    try {
      const { keys, freshness } = await fetch(source.uri);
      entry.keys = keys;
      entry.freshUntil = now() + freshness;
      entry.failed = false;
    } catch (error) {
      entry.failed = true;
      log.warn(
        { event: 'trusted_issuers.fetch_failed', reason: reasonOf(error), trusted_issuer: source.id },
        'the keys of a trusted issuer cannot be had',
      );
    } finally {
      entry.endedAt = now();
      entry.underway = undefined;
    }
  }

  async function refresh(entry: Entry, source: KeySource, pause: number): Promise<void> {
    if (entry.underway === undefined && now() - entry.endedAt < pause) return;
    entry.underway ??= load(entry, source);
    await entry.underway;
  }

  function usable(entry: Entry): readonly TrustedJwk[] {
    if (entry.keys === undefined || now() >= entry.freshUntil + STALE) throw unavailable();
    return entry.keys;
  }

  return {
    /**
     * Finds the key that verifies a token with this header. No fetch while the set is fresh and has it.
     * @returns `unknown` when the issuer has no such key, `ambiguous` when a token without `kid` fits several
     * @throws ServiceError `temporarily_unavailable` when the issuer's keys cannot be had, and the last ones are too
     *   old or lack it
     */
    find: async (
      source: KeySource,
      wanted: { readonly kid?: string | undefined; readonly alg: string },
    ): Promise<TrustedJwk | 'unknown' | 'ambiguous'> => {
      const entry = entryOf(source);
      if (entry.keys === undefined || now() >= entry.freshUntil) await refresh(entry, source, PAUSE.failure);
      const found = selectKey(usable(entry), wanted);
      if (found !== 'unknown') return found;
      await refresh(entry, source, PAUSE.unknownKey);
      const again = selectKey(usable(entry), wanted);
      if (again === 'unknown' && entry.failed) throw unavailable();
      return again;
    },
  };
}

export type KeySetCache = ReturnType<typeof createKeySetCache>;

function unavailable(): ServiceError {
  return new ServiceError('temporarily_unavailable', {
    detail: 'The keys of the issuer of the token cannot be had. Try again.',
    retryAfterSeconds: 10,
  });
}
