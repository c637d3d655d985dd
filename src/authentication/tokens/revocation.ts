// The revocations that a process keeps in memory, each until the tokens that it ends have expired.
import { type BloomFilter, createBloomFilter } from '../../../packages/resource-server/src/bloom-filter.ts';
import { AGENT_CLIENT_ID } from '../../identity/agents/agent.ts';
import { actorsOf } from '../../platform/act.ts';
import type { AccessTokenClaims } from './access-token.ts';
import type { RevocationRow } from './token.model.ts';

/** Milliseconds: the longest life of an access token under any setting. */
export const LONGEST_LIFE = 86_400_000;

/**
 * The most entries of the memory, of all tenants and of one. An entry takes about 150 bytes. What one tenant has beyond
 * its number is in a filter of 2 MiB, which so many tenants can have as fill the memory.
 */
const MOST_KEPT = { all: 300_000, tenant: 30_000 } as const;

/**
 * One revocation. With `tokenId` it ends this token. With `principal` it ends all tokens of the principal that were
 * issued up to `notBefore`: milliseconds since 1970, or Infinity while the principal is suspended or deleted. Of
 * several revocations of a principal, the one with the greatest `id` applies.
 */
export type Revocation = Pick<RevocationRow, 'id' | 'tenantId' | 'tokenId' | 'principal'> & {
  readonly notBefore: number;
  /** Milliseconds since 1970: all tokens that it ends have expired by then. */
  readonly expiresAt: number;
};

/** A token that ends before its time: its `jti`, and its end (milliseconds since 1970) where the caller knows it. */
export type EndedToken = { readonly id: string; readonly expiresAt?: number | undefined };

/** The claims of a token that say which client got it. */
export type AccessTokenHolder = Pick<AccessTokenClaims, 'sub' | 'client_id'>;

/** The claims that are compared with revocations. `signedBy` is the id of the issuer key that signed the token. */
export type RevocableClaims = Pick<
  AccessTokenClaims,
  'jti' | 'sub' | 'client_id' | 'tenant_id' | 'iat' | 'act' | 'delegation_id' | 'derived_from'
> & { readonly signedBy?: string | undefined };

/**
 * Returns the ids of all principals whose revocation ends the token: its subject, application, tenant and issuer key.
 * For a delegated token also the delegation, each actor of this issuer, and the ids in `derived_from`.
 */
export function principalsOf(claims: RevocableClaims): string[] {
  const { sub, client_id, tenant_id, act } = claims;
  const own = [...new Set([sub, client_id, tenant_id, ...idsOf(claims.signedBy)])];
  if (act === undefined) return own;
  const actors = actorsOf(act).flatMap((actor) => (actor.iss === undefined ? [actor.sub] : []));
  return [...own, ...actors, ...idsOf(claims.delegation_id), ...(claims.derived_from ?? [])];
}

/** Returns the ids of the tokens whose revocation ends the token: its own, and those of its parents. */
export function tokensOf({ jti, derived_from = [] }: RevocableClaims): string[] {
  return [jti, ...derived_from];
}

/**
 * Returns the holder of a token: a principal that stands for the tokens of one client and for nothing else. The client
 * is the application, the workload issuer, or the agent that got the token with its key. Applications of an agent are
 * clients apart from it. The id is the client's as a UUIDv8 (RFC 9562 §5.8), so it is the id of no other principal.
 */
export function holderOf({ sub, client_id }: AccessTokenHolder): string {
  return asHolder(client_id === AGENT_CLIENT_ID ? sub : client_id);
}

/** Returns the holders whose revocation ends the token: its own and, of a delegated token, all behind it. */
function holdersOf(claims: RevocableClaims): string[] {
  const own = holderOf(claims);
  return claims.act === undefined ? [own] : [own, ...principalsOf(claims).map(asHolder)];
}

/** Returns the ids of all principals and holders whose revocation ends the token. */
export function endersOf(claims: RevocableClaims): string[] {
  return [...principalsOf(claims), ...holdersOf(claims)];
}

const asHolder = (id: string) => `${id.slice(0, 14)}8${id.slice(15)}`;

/**
 * The revocations of one tenant. Some that were not kept end tokens that live until `missingUntil`; 0: all were. The
 * ids of those are in `missing`, unless the memory of all tenants was full.
 */
type Shelf = {
  readonly tokens: Map<string, number>;
  readonly principals: Map<string, Revocation>;
  missingUntil: number;
  missing: BloomFilter | 'unknown' | undefined;
};

/** Creates an empty memory of revocations. @param most entries, of all tenants and of one */
export function createRevocationBook(most: { readonly all: number; readonly tenant: number } = MOST_KEPT) {
  const shelves = new Map<string, Shelf>();
  let entries = 0;

  /** Keeps an entry when there is room. */
  function keep<Value>(shelf: Shelf, map: Map<string, Value>, id: string, value: Value, until: number): void {
    if (!map.has(id)) {
      const isFull = shelf.tokens.size + shelf.principals.size >= most.tenant;
      if (isFull || entries >= most.all) {
        shelf.missingUntil = Math.max(shelf.missingUntil, until);
        if (!isFull) shelf.missing = 'unknown';
        shelf.missing ??= createBloomFilter();
        if (shelf.missing !== 'unknown') shelf.missing.add(id);
        return;
      }
      entries += 1;
    }
    map.set(id, value);
  }

  function add(shelf: Shelf, revocation: Revocation): void {
    const { id, tokenId, principal, expiresAt } = revocation;
    if (tokenId !== null) keep(shelf, shelf.tokens, tokenId, expiresAt, expiresAt);
    if (principal === null) return;
    const known = shelf.principals.get(principal);
    if (known === undefined || known.id < id) keep(shelf, shelf.principals, principal, revocation, expiresAt);
  }

  return {
    /**
     * Adds revocations in any order. Adding one again changes nothing. Beyond the limits they are not kept.
     * @param now milliseconds since 1970; those of expired tokens are left out
     */
    add(revocations: readonly Revocation[], now = 0): void {
      for (const revocation of revocations) {
        if (revocation.expiresAt < now) continue;
        const shelf = shelves.get(revocation.tenantId) ?? newShelf();
        shelves.set(revocation.tenantId, shelf);
        add(shelf, revocation);
      }
    },

    /** Returns whether all tokens of a principal are revoked, including later ones. */
    hasEnded: (tenantId: string, principal: string): boolean =>
      shelves.get(tenantId)?.principals.get(principal)?.notBefore === Number.POSITIVE_INFINITY,

    /** Returns whether the token is revoked; undefined when a revocation that was not kept may end it. */
    isRevoked(claims: RevocableClaims): boolean | undefined {
      const shelf = shelves.get(claims.tenant_id);
      if (shelf === undefined) return false;
      if (tokensOf(claims).some((id) => shelf.tokens.has(id))) return true;
      const at = issuedAt(claims);
      const enders = endersOf(claims);
      if (enders.some((id) => at <= (shelf.principals.get(id)?.notBefore ?? -Infinity))) return true;
      const { missing } = shelf;
      if (missing === undefined) return false;
      return missing === 'unknown' || [...tokensOf(claims), ...enders].some(missing.has) ? undefined : false;
    },

    /** Deletes revocations whose tokens have all expired. @param now milliseconds since 1970 */
    forget(now: number): void {
      entries = 0;
      for (const [tenantId, shelf] of shelves) {
        for (const [id, expiresAt] of shelf.tokens) if (expiresAt < now) shelf.tokens.delete(id);
        for (const [id, { expiresAt }] of shelf.principals) if (expiresAt < now) shelf.principals.delete(id);
        if (shelf.missingUntil < now) Object.assign(shelf, { missingUntil: 0, missing: undefined });
        const size = shelf.tokens.size + shelf.principals.size;
        if (size + shelf.missingUntil === 0) shelves.delete(tenantId);
        entries += size;
      }
    },
  };
}

export type RevocationBook = ReturnType<typeof createRevocationBook>;

function newShelf(): Shelf {
  return { tokens: new Map(), principals: new Map(), missingUntil: 0, missing: undefined };
}

function idsOf(id: string | undefined): string[] {
  return id === undefined ? [] : [id];
}

/** Returns the time of issue. It is read from the `jti`, because `iat` has only whole seconds. */
function issuedAt({ jti, iat }: RevocableClaims): number {
  return madeAt(jti) ?? iat * 1000;
}

/** Returns the time in a UUIDv7 (RFC 9562 §5.7), in milliseconds since 1970. */
export function madeAt(id: string): number | undefined {
  return id[14] === '7' ? Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16) : undefined;
}
