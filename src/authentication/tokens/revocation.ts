// The revocations that a process keeps in memory, each until the tokens that it ends have expired.
import { actorsOf } from '../../platform/act.ts';
import type { AccessTokenClaims } from './access-token.ts';

/**
 * One revocation. With `tokenId` it ends this token. With `principal` it ends all tokens of the principal that were
 * issued up to `notBefore`: milliseconds since 1970, or Infinity while the principal is suspended or deleted. Of
 * several revocations of a principal, the one with the greatest `id` applies.
 */
export type Revocation = {
  readonly id: number;
  readonly tokenId: string | null;
  readonly principal: string | null;
  readonly notBefore: number;
  /** Milliseconds since 1970: all tokens that it ends have expired by then. */
  readonly expiresAt: number;
};

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

/** Creates an empty memory of revocations. */
export function createRevocationBook() {
  const tokens = new Map<string, number>();
  const principals = new Map<string, Revocation>();

  return {
    /** Adds revocations in any order. Adding one again changes nothing. */
    add(revocations: readonly Revocation[]): void {
      for (const revocation of revocations) {
        const { tokenId, principal, expiresAt } = revocation;
        if (tokenId !== null) tokens.set(tokenId, expiresAt);
        if (principal === null) continue;
        const known = principals.get(principal);
        if (known === undefined || known.id < revocation.id) principals.set(principal, revocation);
      }
    },

    /** Returns whether all tokens of a principal are revoked, including later ones. */
    hasEnded: (principal: string): boolean =>
      principals.get(principal)?.notBefore === Number.POSITIVE_INFINITY,

    isRevoked(claims: RevocableClaims): boolean {
      if (tokensOf(claims).some((id) => tokens.has(id))) return true;
      return principalsOf(claims).some(
        (principal) => issuedAt(claims) <= (principals.get(principal)?.notBefore ?? Number.NEGATIVE_INFINITY),
      );
    },

    /** Deletes revocations whose tokens have all expired. @param now milliseconds since 1970 */
    forget(now: number): void {
      for (const [id, expiresAt] of tokens) if (expiresAt < now) tokens.delete(id);
      for (const [id, { expiresAt }] of principals) if (expiresAt < now) principals.delete(id);
    },
  };
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
