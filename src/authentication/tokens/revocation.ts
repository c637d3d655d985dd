// Which tokens ended before their time, as a process remembers it: each decision as long as a token that it concerns could live.
import { actorsOf } from '../../platform/act.ts';
import type { AccessTokenClaims } from './access-token.ts';

/**
 * One decision. `tokenId`: this token; else `principal`: all its tokens that were issued up to `notBefore` (milliseconds since 1970;
 * Infinity while it is suspended or deleted). Of a principal's decisions the one with the greatest `id` counts.
 */
export type Revocation = {
  readonly id: number;
  readonly tokenId: string | null;
  readonly principal: string | null;
  readonly notBefore: number;
  /** Milliseconds since 1970: when no token that it concerns lives any more. */
  readonly expiresAt: number;
};

/** What of a token decides whether it was revoked. `signedBy`: id of the issuer key that has signed it. */
export type RevocableClaims = Pick<
  AccessTokenClaims,
  'jti' | 'sub' | 'client_id' | 'tenant_id' | 'iat' | 'act' | 'delegation_id' | 'derived_from'
> & { readonly signedBy?: string | undefined };

/**
 * Ids of everything whose revocation ends the token: its subject, the application that got it, the tenant, the key that has signed it; of a
 * delegated token also its delegation, each actor of this issuer, and what it is derived from.
 */
export function principalsOf(claims: RevocableClaims): string[] {
  const { sub, client_id, tenant_id, act } = claims;
  const own = [...new Set([sub, client_id, tenant_id, ...idsOf(claims.signedBy)])];
  if (act === undefined) return own;
  const actors = actorsOf(act).flatMap((actor) => (actor.iss === undefined ? [actor.sub] : []));
  return [...own, ...actors, ...idsOf(claims.delegation_id), ...(claims.derived_from ?? [])];
}

/** Ids of the tokens whose revocation ends the token: itself, and those that it is derived from. */
export function tokensOf({ jti, derived_from = [] }: RevocableClaims): string[] {
  return [jti, ...derived_from];
}

/** Creates an empty memory of decisions. */
export function createRevocationBook() {
  const tokens = new Map<string, number>();
  const principals = new Map<string, Revocation>();

  return {
    /** Adds decisions, in any order, and again. */
    add(revocations: readonly Revocation[]): void {
      for (const revocation of revocations) {
        const { tokenId, principal, expiresAt } = revocation;
        if (tokenId !== null) tokens.set(tokenId, expiresAt);
        if (principal === null) continue;
        const known = principals.get(principal);
        if (known === undefined || known.id < revocation.id) principals.set(principal, revocation);
      }
    },

    /** Whether everything of a principal is ended, also what is still to come. */
    hasEnded: (principal: string): boolean =>
      principals.get(principal)?.notBefore === Number.POSITIVE_INFINITY,

    isRevoked(claims: RevocableClaims): boolean {
      if (tokensOf(claims).some((id) => tokens.has(id))) return true;
      return principalsOf(claims).some(
        (principal) => issuedAt(claims) <= (principals.get(principal)?.notBefore ?? Number.NEGATIVE_INFINITY),
      );
    },

    /** Forgets what concerns no token any more. @param now milliseconds since 1970 */
    forget(now: number): void {
      for (const [id, expiresAt] of tokens) if (expiresAt < now) tokens.delete(id);
      for (const [id, { expiresAt }] of principals) if (expiresAt < now) principals.delete(id);
    },
  };
}

function idsOf(id: string | undefined): string[] {
  return id === undefined ? [] : [id];
}

/** `iat` knows only the second. */
function issuedAt({ jti, iat }: RevocableClaims): number {
  return madeAt(jti) ?? iat * 1000;
}

/** When a UUIDv7, which begins with it, was made (RFC 9562 §5.7): milliseconds since 1970. */
export function madeAt(id: string): number | undefined {
  return id[14] === '7' ? Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16) : undefined;
}
