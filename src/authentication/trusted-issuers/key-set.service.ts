// Caches fetched key sets and decides when to fetch them again. Keys of an outdated set are not used.

import { createBoundedCache } from '../../platform/bounded-cache.ts';
import type { OutsideTurn } from '../../platform/database/turns.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import { type Log, reasonOf } from '../../platform/logging.ts';
import { Service } from '../../platform/service.ts';
import { selectKey, type TrustedJwk } from './jwk-set.ts';
import { JwksError, type JwksFetcher } from './jwks.client.ts';
import { STALE } from './jwks-lifetime.ts';

/** Milliseconds from the end of a fetch to the next one: for an unknown key, and after a failure. */
const PAUSE = { unknownKey: 5_000, failure: 10_000 } as const;

/** Greatest number of cached sets. */
const KEPT = 2_000;

type Entry = {
  keys: readonly TrustedJwk[] | undefined;
  freshUntil: number;
  endedAt: number;
  failed: boolean;
  underway: Promise<void> | undefined;
};

/**
 * `id` is the trusted issuer's. Each tenant has separate ones, so no tenant delays the fetches of another. `note` keeps
 * what a fetch met for the tenant: null, or why it failed.
 */
export type KeySource = {
  readonly id: string;
  readonly uri: string;
  readonly note: (error: string | null) => Promise<void>;
};

export type KeySetCacheNeeds = {
  fetch: JwksFetcher;
  /** Receives a line for each failed fetch. */
  log: Log<'warn'>;
  /** A monotonic clock in milliseconds. */
  now?: (() => number) | undefined;
  limit?: number | undefined;
};

/**
 * Creates the cache. A set is fetched when one of its keys is used for the first time, and again when it is no longer
 * fresh. Each source has at most one running fetch, for which all callers wait. Unknown keys cause at most one fetch in
 * 5 s, so that tokens with invented key ids cause few requests to the issuer.
 */
export class KeySetCache extends Service<KeySetCacheNeeds> {
  readonly #now = this.needs.now ?? (() => performance.now());
  readonly #limit = this.needs.limit ?? KEPT;
  readonly #entries = createBoundedCache<Entry>({ limit: this.#limit });

  /**
   * Finds the key for a token's header. Nothing is fetched while the set is fresh and contains the key.
   * @param outsideTurn waits for a fetch, so that an issuer that does not answer holds up no other request
   * @returns `unknown` when the issuer has no such key, `ambiguous` when several keys match a token without `kid`
   * @throws ServiceError `temporarily_unavailable` when the fetch fails and the last set is too old or lacks the key,
   *   and when the issuer was asked so shortly before that it may have published the key since
   */
  find = async (
    source: KeySource,
    wanted: { readonly kid?: string | undefined; readonly alg: string },
    outsideTurn: OutsideTurn = (wait) => wait(),
  ): Promise<TrustedJwk | 'unknown' | 'ambiguous'> => {
    const entry = this.#entryOf(source);
    const isOld = entry.keys === undefined || this.#now() >= entry.freshUntil;
    const wasAsked = isOld && (await this.#refresh(entry, source, outsideTurn));
    const found = selectKey(this.#usable(entry), wanted);
    if (found !== 'unknown' || (wasAsked && !entry.failed)) return found;
    const isAskedNow = await this.#refresh(entry, source, outsideTurn);
    const again = selectKey(this.#usable(entry), wanted);
    if (again === 'unknown' && (entry.failed || !isAskedNow)) throw this.#unavailable(entry);
    return again;
  };

  #entryOf = ({ id, uri }: KeySource): Entry =>
    this.#entries.get(`${id} ${uri}`, () => ({
      keys: undefined,
      freshUntil: 0,
      endedAt: Number.NEGATIVE_INFINITY,
      failed: false,
      underway: undefined,
    }));

  #load = async (entry: Entry, source: KeySource): Promise<void> => {
    try {
      const { keys, freshness } = await this.needs.fetch(source.uri);
      entry.keys = keys;
      entry.freshUntil = this.#now() + freshness;
      entry.failed = false;
      await note(this.needs.log, source, null);
    } catch (error) {
      entry.failed = true;
      this.needs.log.warn(
        { event: 'trusted_issuers.fetch_failed', reason: reasonOf(error), trusted_issuer: source.id },
        'the keys of a trusted issuer cannot be had',
      );
      await note(
        this.needs.log,
        source,
        error instanceof JwksError ? error.message : 'a fault of this service',
      );
    } finally {
      entry.endedAt = this.#now();
      entry.underway = undefined;
    }
  };

  /** Fetches the set, unless the pause since the last fetch runs. @returns whether the issuer was asked */
  #refresh = async (entry: Entry, source: KeySource, outsideTurn: OutsideTurn): Promise<boolean> => {
    if (entry.underway === undefined && this.#now() - entry.endedAt < pauseOf(entry)) return false;
    entry.underway ??= this.#load(entry, source);
    const { underway } = entry;
    await outsideTurn(() => underway);
    return true;
  };

  #usable = (entry: Entry): readonly TrustedJwk[] => {
    if (entry.keys === undefined || this.#now() >= entry.freshUntil + STALE) throw this.#unavailable(entry);
    return entry.keys;
  };

  /** The client is to wait for the rest of the pause. */
  #unavailable = (entry: Entry): ServiceError =>
    new ServiceError('temporarily_unavailable', {
      detail: entry.failed
        ? 'The keys of the issuer of the token cannot be had; last_fetch of the issuer says why. Try again.'
        : 'The issuer of the token was asked for its keys a moment ago, and did not have this one then. Try again.',
      retryAfterSeconds: Math.max(1, Math.ceil((entry.endedAt + pauseOf(entry) - this.#now()) / 1000)),
    });
}

/** Keeps what a fetch met. The keys serve although it could not be written down. */
async function note(log: Log<'warn'>, source: KeySource, error: string | null): Promise<void> {
  try {
    await source.note(error);
  } catch (fault) {
    log.warn(
      { event: 'trusted_issuers.note_failed', reason: reasonOf(fault), trusted_issuer: source.id },
      'what a fetch of keys met could not be written down',
    );
  }
}

const pauseOf = ({ failed }: Entry) => (failed ? PAUSE.failure : PAUSE.unknownKey);
