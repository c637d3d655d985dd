// The revocation feed: each process that accepts tokens learns of a revocation within a second. While its reads of the
// feed fail, each check asks the database; when the database fails too, no token is accepted.

import type { Database } from '../../platform/database/database.ts';
import type { Queryable, Transaction } from '../../platform/database/transaction.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import { createLoop, type RunningLoop } from '../../platform/process/loop.ts';
import * as revocationStore from './revocation.store.ts';
import { createRevocationBook, type RevocableClaims, type Revocation } from './revocation.ts';

/** The channel of the notifications that the feed has new rows. */
export const REVOCATION_CHANNEL = 'countersign_revocations';

/** Milliseconds between two reads. */
const POLL_INTERVAL = 250;

/** Milliseconds after which the last successful read is too old for a decision. */
const STALE_AFTER = 700;

/** Milliseconds between two purges of one process, and the most rows that one statement of a purge deletes. */
const PURGE_INTERVAL = 60_000;
const PURGE_BATCH = 1_000;

/**
 * Remembers revocations. A process that accepts tokens calls `start`. Before the first read, and while reads fail, each
 * check asks the database.
 * @param listen opens a listener for notifications, which only saves time: without it, or when its connection is lost,
 *   the next poll finds the rows
 * @param notifier notifies the other processes after a commit
 * @param onError receives the error of the first of several failed reads @param now a monotonic clock in milliseconds
 */
export function createRevocationService({
  store = revocationStore,
  database,
  listen = () => undefined,
  notifier,
  onError = () => undefined,
  now = () => performance.now(),
}: {
  /** Replaced in tests of faults. */
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

  /** Reads the new revocations. The age of a read counts from its request, not from its answer. */
  async function poll(): Promise<void> {
    askedAt = now();
    const { horizon, revocations } = await store.readSince(database, since);
    book.add(revocations);
    // A replaced database may count its transactions from a lower number: then all revocations are read again.
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

  /** Adds the revocations of this process to its memory after the commit, and notifies the other processes. */
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

    /** Accepts tokens that are issued from now on; earlier tokens stay revoked. */
    admitPrincipal: async (unit: Transaction, tenantId: string, principal: string): Promise<void> =>
      announce(unit, await store.insertPrincipal(unit, tenantId, principal, 'now')),

    /**
     * Whether the token was revoked. No round trip while reads succeed.
     * @throws ServiceError `temporarily_unavailable`
     */
    isRevoked,

    /**
     * Whether the last successful read had a permanent revocation of the principal. No round trip; a caller must not
     * decide by it alone.
     */
    hasEnded: book.hasEnded,

    /**
     * Whether any of these tokens was revoked, by the rows that are committed when the statement runs. One round trip.
     */
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

    /** Stops the reads. Call it before the database closes. */
    close: async (): Promise<void> => {
      await Promise.all([running?.stop(), listener?.close()]);
    },
  };
}

export type RevocationService = ReturnType<typeof createRevocationService>;
