// Issues access and refresh tokens, ends refresh tokens, and authenticates bearer tokens. A refresh token is never stored as text.
import { createHash } from 'node:crypto';
import type { Principal, Tenant } from '../context.ts';
import { createBoundedCache } from '../crypto/bounded-cache.ts';
import { hashSecret, newSecret } from '../crypto/opaque-secret.node.ts';
import { newId } from '../database/ids.ts';
import type { Queryable } from '../database/transaction.ts';
import { ServiceError } from '../errors/service-error.ts';
import type { IssuerService } from '../issuer/issuer.service.ts';
import { verifyJws } from '../issuer/jws.verifier.ts';
import {
  ACCESS_TOKEN_TYPE,
  type AccessTokenClaims,
  type AccessTokenGrant,
  buildAccessTokenClaims,
  checkAccessToken,
  principalOf,
  readAccessTokenClaims,
} from './access-token.ts';
import { parseCompactJws } from './compact-jws.ts';
import type { NewRefreshToken, RefreshTokenStore } from './refresh-token.store.ts';

export type { NewRefreshToken as RefreshTokenRecord } from './refresh-token.store.ts';

/** Tokens whose signature was checked, kept by their hash: a client uses its token again and again. */
const VERIFIED_KEPT = 10_000;

export type IssuedAccessToken = {
  readonly accessToken: string;
  /** The token's `jti`. */
  readonly tokenId: string;
  /** Seconds. */
  readonly expiresIn: number;
};

/** What a refresh token stands for; the family that it begins has its own end, which rotation does not move. */
export type RefreshGrant = {
  readonly tenantId: string;
  readonly agentId: string;
  readonly keyId: string;
  readonly scopes: readonly string[];
  readonly audience: string;
  readonly clientId: string;
  readonly jkt?: string | undefined;
};

/**
 * Tokens of a tenant. Source: Specification, "Agent access token claims"; RFC 9068.
 * @param accessTokenLifetime seconds @param refreshTokenLifetime seconds, of a whole family
 * @param now milliseconds since 1970
 */
export function createTokenService({
  issuer,
  refreshTokens,
  accessTokenLifetime,
  refreshTokenLifetime,
  now = Date.now,
}: {
  issuer: Pick<IssuerService, 'sign' | 'verificationKey'>;
  refreshTokens: RefreshTokenStore;
  accessTokenLifetime: number;
  refreshTokenLifetime: number;
  now?: (() => number) | undefined;
}) {
  // Only the fact that a text carries a good signature is kept, which cannot change; everything else is checked each time.
  const verified = createBoundedCache<AccessTokenClaims>({ limit: VERIFIED_KEPT });

  /** Makes the first refresh token of a new family. @returns its text (256 bits, base64url), for the client only, and what is stored */
  function prepareRefreshToken(grant: RefreshGrant): { text: string; record: NewRefreshToken } {
    const text = newSecret();
    const id = newId();
    return { text, record: { id, familyId: id, hash: hashSecret(text), ...grant } };
  }

  return {
    /** Signs an access token with the tenant's present key; no round trip, but for the list of keys every 2 s. */
    issueAccessToken: async (tenant: Tenant, grant: AccessTokenGrant): Promise<IssuedAccessToken> => {
      const tokenId = newId();
      const issuedAt = Math.floor(now() / 1000);
      const claims = buildAccessTokenClaims(tenant, grant, {
        tokenId,
        issuedAt,
        lifetime: accessTokenLifetime,
      });
      const accessToken = await issuer.sign(tenant, claims, { typ: ACCESS_TOKEN_TYPE });
      return { accessToken, tokenId, expiresIn: accessTokenLifetime };
    },

    prepareRefreshToken,

    /** The insert of prepared refresh tokens, for a statement that writes more than these (see statement-parts.ts). */
    refreshTokenPart: refreshTokens.part(refreshTokenLifetime),

    /** Stores the first refresh token of a new family; one round trip. @returns its text, for the client only */
    createRefreshToken: async (unit: Queryable, grant: RefreshGrant): Promise<string> => {
      const { text, record } = prepareRefreshToken(grant);
      await refreshTokens.insert(unit, record, refreshTokenLifetime);
      return text;
    },

    /** Ends every refresh token of an agent with the caller's transaction. @returns how many were live */
    revokeRefreshTokensOfAgent: (
      unit: Queryable,
      agent: { readonly tenantId: string; readonly id: string },
      reason: string,
    ): Promise<number> => refreshTokens.revokeOfAgent(unit, agent, reason),

    /** Ends every refresh token that came of one key with the caller's transaction. @returns how many were live */
    revokeRefreshTokensOfKey: (
      unit: Queryable,
      key: { readonly tenantId: string; readonly agentId: string; readonly id: string },
      reason: string,
    ): Promise<number> => refreshTokens.revokeOfKey(unit, key, reason),

    /**
     * Authenticates a bearer token for the service's own routes. No round trip, but for the list of keys every 2 s.
     * @throws ServiceError `invalid_token` (malformed, longer than 8 KiB, another `typ`, a `crit`, an unknown key, a bad
     *   signature, another issuer or tenant), `token_expired`, `insufficient_scope` (another audience)
     */
    authenticate: async (tenant: Tenant, token: string): Promise<Principal> => {
      const jws = parseCompactJws(token);
      if (jws === null) throw invalidToken();
      const { alg, typ, kid, crit } = jws.header;
      if (typ !== ACCESS_TOKEN_TYPE || crit !== undefined || typeof kid !== 'string') throw invalidToken();
      const key = await issuer.verificationKey(tenant, kid);
      if (key === undefined || key.algorithm !== alg) throw invalidToken();
      const claims = verified.get(createHash('sha256').update(token).digest('base64'), () => {
        const read = verifyJws(key, jws.signed, jws.signature)
          ? readAccessTokenClaims(jws.payload)
          : undefined;
        if (read === undefined) throw invalidToken();
        return read;
      });
      checkAccessToken(claims, tenant, now());
      return principalOf(claims);
    },
  };
}

export type TokenService = ReturnType<typeof createTokenService>;

function invalidToken(): ServiceError {
  return new ServiceError('invalid_token', { detail: 'The access token is not valid.' });
}
