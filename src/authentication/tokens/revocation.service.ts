// The revocation feed: a decision that ends tokens before their time reaches every process within a second. While a process does not know
// the recent decisions, each check asks the database; when that fails too, no token is accepted.

import type { Database } from '../../platform/database/database.ts';
import type { Queryable, Transaction } from '../../platform/database/transaction.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import { createLoop, type RunningLoop } from '../../platform/process/loop.ts';
import * as revocationStore from './revocation.store.ts';
import { createRevocationBook, type RevocableClaims, type Revocation } from './revocation.ts';

/** The channel of notifications that there is something to read. */
export const REVOCATION_CHANNEL = 'countersign_revocations';

/** Milliseconds between two readings. */
const POLL_INTERVAL = 250;

/** Milliseconds after which the last good reading is too old to decide by. */
const STALE_AFTER = 700;

/** Milliseconds between two purges of one process, and rows that one statement of a purge deletes. */
const PURGE_INTERVAL = 60_000;
const PURGE_BATCH = 1_000;

/**
 * Knows the tokens that were revoked. A process that accepts tokens calls `start`; until the first reading, and whenever readings fail, each
 * check asks the database.
 * @param listen opens a listener for notifications; an accelerator only: without it, or when its connection is lost, polling does the same later
 * @param notifier wakes the other processes after a commit
 * @param onError receives the error of the first of several readings that fail @param now a monotonic clock in milliseconds
 */
export function createRevocationService({
  store = revocationStore,
  database,
  listen = () => undefined,
  notifier,
  onError = () => undefined,
  now = () => performance.now(),
}: {
  /** Another one in tests of faults. */
  store?: typeof revocationStore | undefined;
  database: Pick<Database, 'query'>;
  listen?: ((onNotice: () => void) => { close(): Promise<void> } | undefined) | undefined;
  notifier?: { poke(): void } | undefined;
  onError?: ((error: unknown) => void) | undefined;
  now?: (() => number) | undefined;
}) {
  const book = createRevocationBook();
  let since = '0';
  let readAt = Number.NEGATIVE_INFINITY;
  let purgedAt = now();
  let askedAt = readAt;
  let isFailing = false;
  let running: RunningLoop | undefined;
  let listener: { close(): Promise<void> } | undefined;

  /** Reads what is new. What counts is when the question was asked, not when the answer came. */
  async function poll(): Promise<void> {
    askedAt = now();
    const { horizon, revocations } = await store.readSince(database, since);
    book.add(revocations);
    // A database that was replaced may count its transactions anew: then everything is read again.
    since = BigInt(horizon) < BigInt(since) ? '0' : horizon;
    readAt = askedAt;
    isFailing = false;
    if (askedAt - purgedAt < PURGE_INTERVAL) return;
    purgedAt = askedAt;
    book.forget(Date.now());
    while ((await store.purge(database, PURGE_BATCH)) === PURGE_BATCH);
  }

  const loop = createLoop({
    run: poll,
    next: () => Math.max(0, POLL_INTERVAL - (now() - askedAt)),
    onFailure: (error) => {
      if (!isFailing) onError(error);
      isFailing = true;
    },
  });

  /** This process knows its own decisions as soon as they are committed. */
  function announce(unit: Transaction, revocations: readonly Revocation[]): void {
    unit.afterCommit(() => {
      book.add(revocations);
      notifier?.poke();
    });
  }

  async function anyRevoked(queryable: Queryable, claims: readonly RevocableClaims[]): Promise<boolean> {
    const asked = createRevocationBook();
    asked.add(await store.readOf(queryable, claims));
    return claims.some(asked.isRevoked);
  }

  async function isRevoked(claims: RevocableClaims): Promise<boolean> {
    return now() - readAt <= STALE_AFTER ? book.isRevoked(claims) : anyRevoked(database, [claims]);
  }

  return {
    /** Ends single tokens with the caller's transaction. @param tokenIds their `jti` */
    endTokens: async (unit: Transaction, tenantId: string, tokenIds: readonly string[]): Promise<void> => {
      if (tokenIds.length > 0) announce(unit, await store.insertTokens(unit, tenantId, tokenIds));
    },

    /** Ends all tokens of an agent, application, delegation or issuer key, also such as are being issued now, until `admitPrincipal`. */
    endPrincipal: async (unit: Transaction, tenantId: string, principal: string): Promise<void> =>
      announce(unit, await store.insertPrincipal(unit, tenantId, principal, 'ever')),

    /** Ends all tokens of a tenant that were issued so far. */
    endTenant: async (unit: Transaction, tenantId: string): Promise<void> =>
      announce(unit, await store.insertPrincipal(unit, tenantId, tenantId, 'now')),

    /** Accepts tokens that are issued from now on; what was ended before stays ended. */
    admitPrincipal: async (unit: Transaction, tenantId: string, principal: string): Promise<void> =>
      announce(unit, await store.insertPrincipal(unit, tenantId, principal, 'now')),

    /** Whether the token ended before its time. No round trip while readings succeed. @throws ServiceError `temporarily_unavailable` */
    isRevoked,

    /** Whether the last good reading knew an end of the principal for ever. No round trip; never the only thing to decide by. */
    hasEnded: book.hasEnded,

    /** Whether any of these tokens ended, by what is committed when the caller's transaction asks; one round trip. */
    anyRevoked,

    /** @throws ServiceError `token_revoked`; `temporarily_unavailable` when the database does not answer */
    check: async (claims: RevocableClaims): Promise<void> => {
      if (await isRevoked(claims))
        throw new ServiceError('token_revoked', { detail: 'The access token was revoked.' });
    },

    /** Begins to read every 250 ms. */
    start: (): void => {
      listener = listen(loop.wake);
      running = loop.start();
    },

    /** Stops reading; to be called before the database closes. */
    close: async (): Promise<void> => {
      await Promise.all([running?.stop(), listener?.close()]);
    },
  };
}

export type RevocationService = ReturnType<typeof createRevocationService>;
