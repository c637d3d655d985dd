// The revocation feed: each process that accepts tokens reads new revocations within a second, page by page. While its
// reads fail or it has not read all, each check queries the database. When that fails too, no token is accepted.

import type { Database } from '../../platform/database/database.ts';
import { createDatabaseClock, type DatabaseClock } from '../../platform/database/database-clock.ts';
import type { Queryable, Transaction } from '../../platform/database/transaction.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import { Service } from '../../platform/service.ts';
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
import { RevocationReader } from './revocation-reader.service.ts';

/** Postgres channel that notifies processes of new revocations. */
export const REVOCATION_CHANNEL = 'countersign_revocations';

export type RevocationNeeds = {
  /** Replaced in tests of faults. */
  store?: typeof revocationStore | undefined;
  database: Pick<Database, 'query'>;
  /** Opens a listener for notifications. It only saves time, because the next poll finds the rows too. */
  listen?: ((onNotice: () => void) => { close(): Promise<void> } | undefined) | undefined;
  /** Notifies the other processes after a commit. */
  notifier?: { poke(): void } | undefined;
  /** Receives the error of the first of several failed reads. */
  onError?: ((error: unknown) => void) | undefined;
  /** Receives of each revocation how long after it was made this process has read it. */
  onRead?: ((seconds: number) => void) | undefined;
  /** Is called when so many tokens of a client were ended that now all of them are. */
  onReplaced?: ((client: AccessTokenHolder & { readonly tenantId: string }) => void) | undefined;
  /** The database's, which each reading sets right. */
  clock?: Pick<DatabaseClock, 'observe' | 'now' | 'monotonic'> | undefined;
};

/**
 * Creates the memory of revocations. A process that accepts tokens calls `start`. Until it has read all, while reads
 * fail, and for a tenant of whose revocations not all are kept, each check queries the database.
 */
export class RevocationService extends Service<RevocationNeeds> {
  readonly #store = this.needs.store ?? revocationStore;
  readonly #listen = this.needs.listen ?? (() => undefined);
  readonly #onError = this.needs.onError ?? (() => undefined);
  readonly #onRead = this.needs.onRead ?? (() => undefined);
  readonly #onReplaced = this.needs.onReplaced ?? (() => undefined);
  readonly #clock = this.needs.clock ?? createDatabaseClock();
  readonly #book = createRevocationBook();
  readonly #reader = new RevocationReader({
    store: this.#store,
    database: this.needs.database,
    book: this.#book,
    listen: this.#listen,
    onError: this.#onError,
    onRead: this.#onRead,
    clock: this.#clock,
  });

  /**
   * Ends single tokens of one client in the caller's transaction. Of a client of which thousands were ended, all
   * tokens end that were issued until now.
   */
  endTokens = async (
    unit: Transaction,
    tenantId: string,
    client: AccessTokenHolder,
    tokens: readonly EndedToken[],
  ): Promise<void> => {
    const live = withEnds(tokens, this.#clock.now());
    if (live.length === 0) return;
    const inserted = await this.#store.insertTokens(unit, {
      tenantId,
      holder: holderOf(client),
      tokens: live,
    });
    this.#announce(unit, inserted);
    if (inserted.some(({ principal }) => principal !== null))
      unit.afterCommit(() => this.#onReplaced({ ...client, tenantId }));
  };

  /** Ends all tokens of an agent, application, delegation or issuer key, also later ones, until `admitPrincipal`. */
  endPrincipal = async (unit: Transaction, tenantId: string, principal: string): Promise<void> => {
    this.#announce(unit, await this.#store.insertPrincipal(unit, tenantId, principal, 'ever'));
  };

  /** Accepts tokens of a principal that are issued from now on. Earlier tokens stay revoked. */
  admitPrincipal = async (unit: Transaction, tenantId: string, principal: string): Promise<void> => {
    this.#announce(unit, await this.#store.insertPrincipal(unit, tenantId, principal, 'now'));
  };

  /** Returns whether the token was revoked, usually from memory. @throws ServiceError `temporarily_unavailable` */
  isRevoked = async (claims: RevocableClaims): Promise<boolean> => {
    const known = this.#reader.isFresh() ? this.#book.isRevoked(claims) : undefined;
    if (known !== undefined) return known;
    return (await this.findRevoked(this.needs.database, [[claims]])).includes(true);
  };

  /**
   * Says of each group of tokens whether one of them was revoked in a committed transaction. One round trip; none
   * without a token.
   */
  findRevoked = async (
    queryable: Queryable,
    groups: readonly (readonly RevocableClaims[])[],
  ): Promise<boolean[]> => {
    const asked = createRevocationBook({ all: Infinity, tenant: Infinity });
    const all = groups.flat();
    if (all.length > 0) asked.add(await this.#store.readOf(queryable, all));
    return groups.map((claims) => claims.some((one) => asked.isRevoked(one) !== false));
  };

  /** @throws ServiceError `token_revoked`; `temporarily_unavailable` when the database does not answer */
  check = async (claims: RevocableClaims): Promise<void> => {
    if (await this.isRevoked(claims))
      throw new ServiceError('token_revoked', { detail: 'The access token was revoked.' });
  };

  /** Returns whether all tokens of the principal have ended. May be outdated, so a caller needs a second check. */
  hasEnded = this.#book.hasEnded;

  /** Begins to read what other processes have revoked. */
  start = this.#reader.start;

  /** Stops the reads; each later check queries the database. Call it before the database closes. */
  close = this.#reader.close;

  /** After the commit, adds the revocations to this process's memory and notifies the other processes. */
  #announce = (unit: Transaction, revocations: readonly Revocation[]): void => {
    unit.afterCommit(() => {
      this.#book.add(revocations, this.#clock.now());
      this.needs.notifier?.poke();
    });
  };
}

/** Returns the tokens that may be live, each with its end, or the latest end that any setting could have given it. */
function withEnds(tokens: readonly EndedToken[], now: number): Required<EndedToken>[] {
  return tokens.flatMap(({ id, expiresAt = (madeAt(id) ?? now) + LONGEST_LIFE }) =>
    expiresAt > now ? [{ id, expiresAt }] : [],
  );
}
