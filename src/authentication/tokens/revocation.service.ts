// The revocation feed: each process that accepts tokens reads new revocations within a second. While its reads fail,
// each check queries the database. When that query fails too, no token is accepted.

import type { Database } from '../../platform/database/database.ts';
import type { Queryable, Transaction } from '../../platform/database/transaction.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import { createLoop, type RunningLoop } from '../../platform/process/loop.ts';
import * as revocationStore from './revocation.store.ts';
import { createRevocationBook, type RevocableClaims, type Revocation } from './revocation.ts';

/** Postgres channel that notifies processes of new revocations. */
export const REVOCATION_CHANNEL = 'countersign_revocations';

/** Milliseconds between two reads. */
const POLL_INTERVAL = 250;

/** A check uses the memory only when the last successful read is at most this many milliseconds old. */
const STALE_AFTER = 700;

/** Milliseconds between two purges of one process, and the greatest number of rows that one statement deletes. */
const PURGE_INTERVAL = 60_000;
const PURGE_BATCH = 1_000;

export type RevocationNeeds = {
  /** Replaced in tests of faults. */
  store?: typeof revocationStore | undefined;
  database: Pick<Database, 'query'>;
  listen?: ((onNotice: () => void) => { close(): Promise<void> } | undefined) | undefined;
  notifier?: { poke(): void } | undefined;
  onError?: ((error: unknown) => void) | undefined;
  now?: (() => number) | undefined;
};

/**
 * Creates the memory of revocations. A process that accepts tokens calls `start`. Before the first read, and while
 * reads fail, each check queries the database.
 * @param listen opens a listener for notifications. It only saves time, because the next poll finds the rows too.
 * @param notifier notifies the other processes after a commit
 * @param onError receives the error of the first of several failed reads
 * @param now a monotonic clock in milliseconds
 */
export function createRevocationService({
  store = revocationStore,
  database,
  listen = () => undefined,
  notifier,
  onError = () => undefined,
  now = () => performance.now(),
}: RevocationNeeds) {
  const book = createRevocationBook();
  let since = '0';
  let readAt = Number.NEGATIVE_INFINITY;
  let purgedAt = now();
  let askedAt = readAt;
  let isFailing = false;
  let running: RunningLoop | undefined;
  let listener: { close(): Promise<void> } | undefined;

  /** Reads the new revocations. The age of a read is counted from its request. */
  async function poll(): Promise<void> {
    askedAt = now();
    const { horizon, revocations } = await store.readSince(database, since);
    book.add(revocations);
    // After the database was replaced, its transaction ids may be lower. Then all revocations are read again.
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

  /** After the commit, adds the revocations to this process's memory and notifies the other processes. */
  function announce(unit: Transaction, revocations: readonly Revocation[]): void {
    unit.afterCommit(() => {
      book.add(revocations);
      notifier?.poke();
    });
  }

  const isRevoked = async (claims: RevocableClaims): Promise<boolean> =>
    now() - readAt <= STALE_AFTER ? book.isRevoked(claims) : anyRevoked(store, database, [claims]);

  return {
    /** Ends single tokens in the caller's transaction. @param tokenIds their `jti` */
    endTokens: async (unit: Transaction, tenantId: string, tokenIds: readonly string[]): Promise<void> => {
      if (tokenIds.length > 0) announce(unit, await store.insertTokens(unit, tenantId, tokenIds));
    },

    /** Ends all tokens of an agent, application, delegation or issuer key, also later ones, until `admitPrincipal`. */
    endPrincipal: async (unit: Transaction, tenantId: string, principal: string): Promise<void> =>
      announce(unit, await store.insertPrincipal(unit, tenantId, principal, 'ever')),

    /** Ends all tokens of a tenant that were issued until now. */
    endTenant: async (unit: Transaction, tenantId: string): Promise<void> =>
      announce(unit, await store.insertPrincipal(unit, tenantId, tenantId, 'now')),

    /** Accepts tokens of a principal that are issued from now on. Earlier tokens stay revoked. */
    admitPrincipal: async (unit: Transaction, tenantId: string, principal: string): Promise<void> =>
      announce(unit, await store.insertPrincipal(unit, tenantId, principal, 'now')),

    /** Returns whether the token was revoked, usually from memory. @throws ServiceError `temporarily_unavailable` */
    isRevoked,

    /** Returns whether all tokens of the principal have ended. May be outdated, so a caller needs a second check. */
    hasEnded: book.hasEnded,

    /** Returns whether one of these tokens was revoked in a committed transaction. One round trip. */
    anyRevoked: (queryable: Queryable, claims: readonly RevocableClaims[]): Promise<boolean> =>
      anyRevoked(store, queryable, claims),

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

    /** Stops the reads; each later check queries the database. Call it before the database closes. */
    close: async (): Promise<void> => {
      await Promise.all([running?.stop(), listener?.close()]);
      readAt = Number.NEGATIVE_INFINITY;
    },
  };
}

export type RevocationService = ReturnType<typeof createRevocationService>;

async function anyRevoked(
  store: Pick<typeof revocationStore, 'readOf'>,
  queryable: Queryable,
  claims: readonly RevocableClaims[],
): Promise<boolean> {
  const asked = createRevocationBook();
  asked.add(await store.readOf(queryable, claims));
  return claims.some(asked.isRevoked);
}
