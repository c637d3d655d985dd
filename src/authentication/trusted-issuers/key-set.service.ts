// Caches fetched key sets and decides when to fetch them again. Keys of an outdated set are not used.

import { createBoundedCache } from '../../platform/bounded-cache.ts';
import type { OutsideTurn } from '../../platform/database/turns.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import { type Log, reasonOf } from '../../platform/logging.ts';
import { bindUseCases } from '../../platform/use-cases.ts';
import { selectKey, type TrustedJwk } from './jwk-set.ts';
import type { JwksFetcher } from './jwks.client.ts';
import { STALE } from './jwks-lifetime.ts';

/** Milliseconds from the end of a fetch to the next fetch after an unknown key, and after a failure. */
const PAUSE = { unknownKey: 30_000, failure: 10_000 } as const;

/** Greatest number of cached sets. */
const KEPT = 2_000;

type Entry = {
  keys: readonly TrustedJwk[] | undefined;
  freshUntil: number;
  endedAt: number;
  failed: boolean;
  underway: Promise<void> | undefined;
};

/** `id` is the trusted issuer's. Each tenant has separate ones, so no tenant delays the fetches of another. */
export type KeySource = { readonly id: string; readonly uri: string };

export type KeySetCacheNeeds = {
  fetch: JwksFetcher;
  log: Log<'warn'>;
  now?: (() => number) | undefined;
  limit?: number | undefined;
};

/**
 * Creates the cache. A set is fetched when one of its keys is used for the first time, and again when it is no longer
 * fresh. Each source has at most one running fetch, for which all callers wait. Unknown keys cause at most one fetch in
 * 30 s, so that tokens with invented key ids cause few requests to the issuer.
 * @param log receives a line for each failed fetch
 * @param now a monotonic clock in milliseconds
 */
export function createKeySetCache(needs: KeySetCacheNeeds) {
  const tools = prepareKeySetCache(needs);
  return bindUseCases(tools, { find });
}

export type KeySetCache = ReturnType<typeof createKeySetCache>;

type KeySetCacheTools = ReturnType<typeof prepareKeySetCache>;

function prepareKeySetCache({ now = () => performance.now(), limit = KEPT, ...needs }: KeySetCacheNeeds) {
  const entries = createBoundedCache<Entry>({ limit });
  return { ...needs, now, limit, entries };
}

/**
 * Finds the key for a token's header. Nothing is fetched while the set is fresh and contains the key.
 * @param outsideTurn waits for a fetch, so that an issuer that does not answer holds up no other request
 * @returns `unknown` when the issuer has no such key, `ambiguous` when several keys match a token without `kid`
 * @throws ServiceError `temporarily_unavailable` when the fetch fails and the last set is too old or lacks the key
 */
async function find(
  needs: KeySetCacheTools,
  source: KeySource,
  wanted: { readonly kid?: string | undefined; readonly alg: string },
  outsideTurn: OutsideTurn = (wait) => wait(),
): Promise<TrustedJwk | 'unknown' | 'ambiguous'> {
  const entry = entryOf(needs, source);
  if (entry.keys === undefined || needs.now() >= entry.freshUntil)
    await refresh(needs, entry, source, PAUSE.failure, outsideTurn);
  const found = selectKey(usable(needs, entry), wanted);
  if (found !== 'unknown') return found;
  await refresh(needs, entry, source, PAUSE.unknownKey, outsideTurn);
  const again = selectKey(usable(needs, entry), wanted);
  if (again === 'unknown' && entry.failed) throw unavailable();
  return again;
}

function entryOf({ entries }: KeySetCacheTools, { id, uri }: KeySource): Entry {
  return entries.get(`${id} ${uri}`, () => ({
    keys: undefined,
    freshUntil: 0,
    endedAt: Number.NEGATIVE_INFINITY,
    failed: false,
    underway: undefined,
  }));
}

async function load({ fetch, now, log }: KeySetCacheTools, entry: Entry, source: KeySource): Promise<void> {
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

async function refresh(
  needs: KeySetCacheTools,
  entry: Entry,
  source: KeySource,
  pause: number,
  outsideTurn: OutsideTurn,
): Promise<void> {
  if (entry.underway === undefined && needs.now() - entry.endedAt < pause) return;
  entry.underway ??= load(needs, entry, source);
  const { underway } = entry;
  await outsideTurn(() => underway);
}

function usable({ now }: KeySetCacheTools, entry: Entry): readonly TrustedJwk[] {
  if (entry.keys === undefined || now() >= entry.freshUntil + STALE) throw unavailable();
  return entry.keys;
}

function unavailable(): ServiceError {
  return new ServiceError('temporarily_unavailable', {
    detail: 'The keys of the issuer of the token cannot be had. Try again.',
    retryAfterSeconds: 10,
  });
}
