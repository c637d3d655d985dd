// The revocation feed: each process that accepts tokens reads new revocations within a second, page by page. While its
// reads fail or it has not read all, each check queries the database. When that fails too, no token is accepted.

import type { Database } from '../../platform/database/database.ts';
import { createDatabaseClock, type DatabaseClock } from '../../platform/database/database-clock.ts';
import type { Queryable, Transaction } from '../../platform/database/transaction.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import { bindUseCases } from '../../platform/use-cases.ts';
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
import { createRevocationReader } from './revocation-reader.service.ts';

/** Postgres channel that notifies processes of new revocations. */
export const REVOCATION_CHANNEL = 'countersign_revocations';

export type RevocationNeeds = {
  /** Replaced in tests of faults. */
  store?: typeof revocationStore | undefined;
  database: Pick<Database, 'query'>;
  listen?: ((onNotice: () => void) => { close(): Promise<void> } | undefined) | undefined;
  notifier?: { poke(): void } | undefined;
  onError?: ((error: unknown) => void) | undefined;
  onRead?: ((seconds: number) => void) | undefined;
  onReplaced?: ((client: AccessTokenHolder & { readonly tenantId: string }) => void) | undefined;
  clock?: Pick<DatabaseClock, 'observe' | 'now' | 'monotonic'> | undefined;
};

/**
 * Creates the memory of revocations. A process that accepts tokens calls `start`. Until it has read all, while reads
 * fail, and for a tenant of whose revocations not all are kept, each check queries the database.
 * @param listen opens a listener for notifications. It only saves time, because the next poll finds the rows too.
 * @param notifier notifies the other processes after a commit
 * @param onError receives the error of the first of several failed reads
 * @param onRead receives of each revocation how long after it was made this process has read it
 * @param onReplaced is called when so many tokens of a client were ended that now all of them are
 * @param clock the database's, which each reading sets right
 */
export function createRevocationService(needs: RevocationNeeds) {
  const tools = prepare(needs);
  const { book, reader } = tools;
  return {
    ...bindUseCases(tools, { endTokens, endPrincipal, admitPrincipal, isRevoked, findRevoked, check }),

    /** Returns whether all tokens of the principal have ended. May be outdated, so a caller needs a second check. */
    hasEnded: book.hasEnded,

    start: reader.start,

    /** Stops the reads; each later check queries the database. Call it before the database closes. */
    close: reader.close,
  };
}

export type RevocationService = ReturnType<typeof createRevocationService>;

type Tools = ReturnType<typeof prepare>;

function prepare({
  store = revocationStore,
  database,
  listen = () => undefined,
  notifier,
  onError = () => undefined,
  onRead = () => undefined,
  onReplaced = () => undefined,
  clock = createDatabaseClock(),
}: RevocationNeeds) {
  const book = createRevocationBook();
  const reader = createRevocationReader({ store, database, book, listen, onError, onRead, clock });
  return { store, database, book, reader, notifier, onReplaced, clock };
}

/**
 * Ends single tokens of one client in the caller's transaction. Of a client of which thousands were ended, all
 * tokens end that were issued until now.
 */
async function endTokens(
  tools: Tools,
  unit: Transaction,
  tenantId: string,
  client: AccessTokenHolder,
  tokens: readonly EndedToken[],
): Promise<void> {
  const live = withEnds(tokens, tools.clock.now());
  if (live.length === 0) return;
  const inserted = await tools.store.insertTokens(unit, { tenantId, holder: holderOf(client), tokens: live });
  announce(tools, unit, inserted);
  if (inserted.some(({ principal }) => principal !== null))
    unit.afterCommit(() => tools.onReplaced({ ...client, tenantId }));
}

/** Ends all tokens of an agent, application, delegation or issuer key, also later ones, until `admitPrincipal`. */
async function endPrincipal(
  tools: Tools,
  unit: Transaction,
  tenantId: string,
  principal: string,
): Promise<void> {
  announce(tools, unit, await tools.store.insertPrincipal(unit, tenantId, principal, 'ever'));
}

/** Accepts tokens of a principal that are issued from now on. Earlier tokens stay revoked. */
async function admitPrincipal(
  tools: Tools,
  unit: Transaction,
  tenantId: string,
  principal: string,
): Promise<void> {
  announce(tools, unit, await tools.store.insertPrincipal(unit, tenantId, principal, 'now'));
}

/** After the commit, adds the revocations to this process's memory and notifies the other processes. */
function announce(
  { book, notifier, clock }: Tools,
  unit: Transaction,
  revocations: readonly Revocation[],
): void {
  unit.afterCommit(() => {
    book.add(revocations, clock.now());
    notifier?.poke();
  });
}

/** Returns whether the token was revoked, usually from memory. @throws ServiceError `temporarily_unavailable` */
async function isRevoked(tools: Tools, claims: RevocableClaims): Promise<boolean> {
  const known = tools.reader.isFresh() ? tools.book.isRevoked(claims) : undefined;
  if (known !== undefined) return known;
  return (await findRevoked(tools, tools.database, [[claims]])).includes(true);
}

/** @throws ServiceError `token_revoked`; `temporarily_unavailable` when the database does not answer */
async function check(tools: Tools, claims: RevocableClaims): Promise<void> {
  if (await isRevoked(tools, claims))
    throw new ServiceError('token_revoked', { detail: 'The access token was revoked.' });
}

/**
 * Says of each group of tokens whether one of them was revoked in a committed transaction. One round trip; none without
 * a token.
 */
async function findRevoked(
  { store }: Tools,
  queryable: Queryable,
  groups: readonly (readonly RevocableClaims[])[],
): Promise<boolean[]> {
  const asked = createRevocationBook({ all: Infinity, tenant: Infinity });
  const all = groups.flat();
  if (all.length > 0) asked.add(await store.readOf(queryable, all));
  return groups.map((claims) => claims.some((one) => asked.isRevoked(one) !== false));
}

/** Returns the tokens that may be live, each with its end, or the latest end that any setting could have given it. */
function withEnds(tokens: readonly EndedToken[], now: number): Required<EndedToken>[] {
  return tokens.flatMap(({ id, expiresAt = (madeAt(id) ?? now) + LONGEST_LIFE }) =>
    expiresAt > now ? [{ id, expiresAt }] : [],
  );
}
