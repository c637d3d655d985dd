// The revocation feed: each process that accepts tokens reads new revocations within a second, page by page. While its
// reads fail or it has not read all, each check queries the database. When that fails too, no token is accepted.

import type { Database } from '../../platform/database/database.ts';
import type { Queryable, Transaction } from '../../platform/database/transaction.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import { createLoop, type RunningLoop } from '../../platform/process/loop.ts';
import * as revocationStore from './revocation.store.ts';
import {
  type AccessTokenHolder,
  createRevocationBook,
  type EndedToken,
  holderOf,
  LONGEST_LIFE,
  madeAt,
  type RevocableClaims,
  type Revocation,
} from './revocation.ts';

/** Postgres channel that notifies processes of new revocations. */
export const REVOCATION_CHANNEL = 'countersign_revocations';

/** Milliseconds between two reads. */
const POLL_INTERVAL = 250;

/** A check uses the memory only when the last successful read is at most this many milliseconds old. */
const STALE_AFTER = 700;

/** Milliseconds after which the memory deletes what has expired. */
const FORGET_INTERVAL = 60_000;

export type RevocationNeeds = {
  /** Replaced in tests of faults. */
  store?: typeof revocationStore | undefined;
  database: Pick<Database, 'query'>;
  listen?: ((onNotice: () => void) => { close(): Promise<void> } | undefined) | undefined;
  notifier?: { poke(): void } | undefined;
  onError?: ((error: unknown) => void) | undefined;
  onReplaced?: ((client: AccessTokenHolder & { readonly tenantId: string }) => void) | undefined;
  now?: (() => number) | undefined;
};

/**
 * Creates the memory of revocations. A process that accepts tokens calls `start`. Until it has read all, while reads
 * fail, and for a tenant of whose revocations not all are kept, each check queries the database.
 * @param listen opens a listener for notifications. It only saves time, because the next poll finds the rows too.
 * @param notifier notifies the other processes after a commit
 * @param onError receives the error of the first of several failed reads
 * @param onReplaced is called when so many tokens of a client were ended that now all of them are
 * @param now a monotonic clock in milliseconds
 */
export function createRevocationService({
  store = revocationStore,
  database,
  listen = () => undefined,
  notifier,
  onError = () => undefined,
  onReplaced = () => undefined,
  now = () => performance.now(),
}: RevocationNeeds) {
  const book = createRevocationBook();
  let position = store.POSITIONS.start;
  let readAt = Number.NEGATIVE_INFINITY;
  let forgotAt = now();
  let askedAt = readAt;
  let isFailing = false;
  let running: RunningLoop | undefined;
  let listener: { close(): Promise<void> } | undefined;

  /**
   * Reads the next page of revocations. The age of a read is counted from its request.
   * @returns whether there may be more
   */
  async function poll(): Promise<boolean> {
    askedAt = now();
    const { revocations, seen, last, isComplete } = await store.readPage(database, position);
    isFailing = false;
    if (seen.next <= position.xid) {
      // The database was replaced by one with fewer transactions, so all revocations are read again.
      position = store.POSITIONS.start;
      readAt = Number.NEGATIVE_INFINITY;
      return true;
    }
    book.add(revocations, Date.now());
    position =
      last === undefined ? store.POSITIONS.afterAll(seen) : store.POSITIONS.afterRow(position, last, seen);
    if (isComplete) readAt = askedAt;
    if (askedAt - forgotAt >= FORGET_INTERVAL) {
      forgotAt = askedAt;
      book.forget(Date.now());
    }
    return last !== undefined;
  }

  const loop = createLoop({
    run: poll,
    next: (hasMore) => (hasMore === true ? 0 : Math.max(0, POLL_INTERVAL - (now() - askedAt))),
    onFailure: (error) => {
      if (!isFailing) onError(error);
      isFailing = true;
    },
  });

  /** After the commit, adds the revocations to this process's memory and notifies the other processes. */
  function announce(unit: Transaction, revocations: readonly Revocation[]): void {
    unit.afterCommit(() => {
      book.add(revocations, Date.now());
      notifier?.poke();
    });
  }

  const isRevoked = async (claims: RevocableClaims): Promise<boolean> => {
    const known = now() - readAt <= STALE_AFTER ? book.isRevoked(claims) : undefined;
    return known ?? anyRevoked(store, database, [claims]);
  };

  return {
    /**
     * Ends single tokens of one client in the caller's transaction. Of a client of which thousands were ended, all
     * tokens end that were issued until now.
     */
    endTokens: async (
      unit: Transaction,
      tenantId: string,
      client: AccessTokenHolder,
      tokens: readonly EndedToken[],
    ): Promise<void> => {
      const live = withEnds(tokens, Date.now());
      if (live.length === 0) return;
      const inserted = await store.insertTokens(unit, { tenantId, holder: holderOf(client), tokens: live });
      announce(unit, inserted);
      if (inserted.some(({ principal }) => principal !== null))
        unit.afterCommit(() => onReplaced({ ...client, tenantId }));
    },

    /** Ends all tokens of an agent, application, delegation or issuer key, also later ones, until `admitPrincipal`. */
    endPrincipal: async (unit: Transaction, tenantId: string, principal: string): Promise<void> =>
      announce(unit, await store.insertPrincipal(unit, tenantId, principal, 'ever')),

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
  const asked = createRevocationBook({ all: Infinity, tenant: Infinity });
  asked.add(await store.readOf(queryable, claims));
  return claims.some((one) => asked.isRevoked(one) !== false);
}

/** Returns the tokens that may be live, each with its end, or the latest end that any setting could have given it. */
function withEnds(tokens: readonly EndedToken[], now: number): Required<EndedToken>[] {
  return tokens.flatMap(({ id, expiresAt = (madeAt(id) ?? now) + LONGEST_LIFE }) =>
    expiresAt > now ? [{ id, expiresAt }] : [],
  );
}
