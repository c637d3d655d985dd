// Issues access and refresh tokens, revokes them, and authenticates access tokens. The text of a refresh token is never
// stored.

import { hash } from 'node:crypto';
import { AGENT_CLIENT_ID, type AgentPart } from '../../identity/agents/agent.ts';
import { createBoundedCache } from '../../platform/bounded-cache.ts';
import type { Principal, Tenant } from '../../platform/context.ts';
import { verifyJws } from '../../platform/crypto/jws.node.ts';
import { parseCompactJws } from '../../platform/crypto/jws.ts';
import { hashSecret, newSecret } from '../../platform/crypto/opaque-secret.node.ts';
import { newId } from '../../platform/database/ids.ts';
import type { Queryable, Transaction } from '../../platform/database/transaction.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import { Service } from '../../platform/service.ts';
import type { IssuerService } from '../issuer/issuer.service.ts';
import {
  ACCESS_TOKEN_TYPE,
  type AccessTokenClaims,
  type AccessTokenGrant,
  buildAccessTokenClaims,
  checkAccessToken,
  checkIssued,
  type Presentation,
  principalOf,
  readAccessTokenClaims,
  type SignedClaims,
} from './access-token.ts';
import type { NewRefreshToken } from './new-refresh-token.ts';
import type { EndedRefreshToken } from './refresh-token.store.ts';
import * as refreshTokens from './refresh-token.store.ts';
import type { RevocationService } from './revocation.service.ts';
import { madeAt } from './revocation.ts';

export type { NewRefreshToken as RefreshTokenRecord } from './new-refresh-token.ts';

/** Greatest number of cached texts with a correct signature, by hash. A client sends its token many times. */
const VERIFIED_KEPT = 10_000;

export type IssuedAccessToken = {
  readonly accessToken: string;
  readonly tokenId: string;
  /** Seconds. */
  readonly expiresIn: number;
};

/** Signs a token of one tenant; `claims` are the claims of the signed token. */
export type AccessTokenIssuer = (
  grant: AccessTokenGrant,
) => IssuedAccessToken & { readonly claims: AccessTokenClaims };

/** The grant of a new refresh token. The end of its family stays the same after each rotation. */
export type RefreshGrant = Omit<NewRefreshToken, 'id' | 'familyId' | 'hash' | 'familyLifetime'>;

export type TokenNeeds = {
  issuer: Pick<IssuerService, 'prepareSigning' | 'verificationKey'>;

  revocations: Pick<RevocationService, 'endTokens' | 'endPrincipal' | 'admitPrincipal' | 'check'>;
  /** Seconds @param refreshTokenLifetime seconds, of a whole family. */
  accessTokenLifetime: number;
  refreshTokenLifetime: number;
  /** Milliseconds since 1970. */
  now?: (() => number) | undefined;
};

/** Issues and verifies the tokens of a tenant. Source: Specification, "Agent access token claims"; RFC 9068. */
export class TokenService extends Service<TokenNeeds> {
  readonly #now = this.needs.now ?? Date.now;
  // The cache stores only that a text has a correct signature and what it says, which cannot change. All other checks
  // are made for each request.
  readonly #verified = createBoundedCache<VerifiedToken>({ limit: VERIFIED_KEPT });

  /**
   * Signs an access token with the tenant's issuer key. One read of the issuer keys every 2 s, else no round trip.
   */
  issueAccessToken = async (tenant: Tenant, grant: AccessTokenGrant): Promise<IssuedAccessToken> => {
    const { claims: _, ...issued } = (await this.prepareAccessTokens(tenant))(grant);
    return issued;
  };

  /** Prepares a signature. The returned function needs no connection, so it can run inside a transaction. */
  prepareAccessTokens = async (tenant: Tenant): Promise<AccessTokenIssuer> => {
    const sign = await this.needs.issuer.prepareSigning(tenant);
    return (grant) => {
      const tokenId = newId();
      const issuedAt = Math.floor(this.#now() / 1000);
      const claims = buildAccessTokenClaims(tenant, grant, {
        tokenId,
        issuedAt,
        lifetime: this.needs.accessTokenLifetime,
      });
      const accessToken = sign(claims, { typ: ACCESS_TOKEN_TYPE });
      return { accessToken, tokenId, expiresIn: claims.exp - claims.iat, claims };
    };
  };

  /**
   * Creates the first refresh token of a new family. @returns its text (256 bits, base64url), which only the client may
   * get, and its row
   */
  prepareRefreshToken = (grant: RefreshGrant): { text: string; record: NewRefreshToken } => {
    const text = newSecret();
    const id = newId();
    return {
      text,
      record: {
        id,
        familyId: id,
        hash: hashSecret(text),
        familyLifetime: this.needs.refreshTokenLifetime,
        ...grant,
      },
    };
  };

  /** Ends all tokens of an agent in the caller's transaction. @returns how many refresh tokens were live */
  revokeTokensOfAgent = async (
    unit: Transaction,
    agent: { readonly tenantId: string; readonly id: string },
    reason: string,
  ): Promise<number> => {
    await this.needs.revocations.endPrincipal(unit, agent.tenantId, agent.id);
    return (await refreshTokens.revokeOfAgent(unit, agent.tenantId, agent.id, null, reason)).length;
  };

  /** Accepts tokens that are issued to a reactivated agent from now on. Earlier tokens stay revoked. */
  admitTokensOfAgent = (
    unit: Transaction,
    agent: { readonly tenantId: string; readonly id: string },
  ): Promise<void> => this.needs.revocations.admitPrincipal(unit, agent.tenantId, agent.id);

  /**
   * Ends all tokens that one key of an agent got, in the caller's transaction. @returns how many refresh tokens were
   * live
   */
  revokeTokensOfKey = async (unit: Transaction, key: AgentPart, reason: string): Promise<number> => {
    const ended = await refreshTokens.revokeOfAgent(unit, key.tenantId, key.agentId, key.id, reason);
    await this.endAccessTokensOf(unit, ended);
    return ended.length;
  };

  /**
   * Reads a valid access token of this tenant, for any audience and bound to any key. While a tenant is suspended, none
   * of its tokens is valid.
   * @throws ServiceError `invalid_token`, `token_expired`, `token_revoked`
   */
  verifyAccessToken = async (tenant: Tenant, token: string): Promise<SignedClaims> => {
    const { claims } = await this.#readSigned(tenant, token);
    checkIssued(claims, tenant, this.#now());
    // Checked here, because the feed keeps a revocation for about a day and a suspension may last longer.
    if (tenant.suspended) throw new ServiceError('token_revoked', { detail: 'The tenant is suspended.' });
    await this.needs.revocations.check(claims);
    return claims;
  };

  /** Ends the access tokens that were issued with these refresh tokens of one agent and may still be live. */
  endAccessTokensOf = async (unit: Transaction, ended: readonly EndedRefreshToken[]): Promise<void> => {
    const [first] = ended;
    if (first === undefined) return;
    const client = { client_id: AGENT_CLIENT_ID, sub: first.agentId };
    const tokens = ended.flatMap(({ accessTokenIds }) => accessTokenIds.map((id) => ({ id })));
    await this.needs.revocations.endTokens(unit, first.tenantId, client, tokens);
  };

  /**
   * Authenticates an access token for the service's own routes. No round trip, except one read of the issuer keys
   * every 2 s.
   * @throws ServiceError `invalid_token` (malformed, longer than 8 KiB, another `typ`, a `crit`, an unknown key, a
   * bad signature, another issuer or tenant, bound to a key), `token_expired`, `token_revoked`, `insufficient_scope`
   * (another audience)
   */
  authenticate = async (
    tenant: Tenant,
    token: string,
    presentation?: Presentation | undefined,
  ): Promise<Principal> => {
    const { claims, principal } = await this.#readSigned(tenant, token);
    checkAccessToken(claims, tenant, this.#now(), presentation);
    await this.needs.revocations.check(claims);
    return principal;
  };

  /** Finds the id of the key with which the agent got this access token; undefined without a key. One round trip. */
  findKeyOfToken = async (
    queryable: Queryable,
    { id, tenantId, agentId }: AgentPart,
  ): Promise<string | undefined> => {
    const time = madeAt(id);
    if (time === undefined) return undefined;
    return (await refreshTokens.findKeyOf(queryable, tenantId, agentId, id, time / 1000))?.keyId;
  };

  /** Reads the claims of an access token after verifying its signature by the tenant's issuer. */
  #readSigned = async (tenant: Tenant, token: string): Promise<VerifiedToken> => {
    const digest = hash('sha256', token, 'base64');
    const known = this.#verified.peek(digest);
    if (known !== undefined) {
      const key = await this.needs.issuer.verificationKey(tenant, known.kid);
      if (key?.id !== known.claims.signedBy) throw invalidToken();
      this.#verified.set(digest, known);
      return known;
    }
    const jws = parseCompactJws(token);
    if (jws === null) throw invalidToken();
    const { alg, typ, kid, crit } = jws.header;
    if (typ !== ACCESS_TOKEN_TYPE || crit !== undefined || typeof kid !== 'string') throw invalidToken();
    const key = await this.needs.issuer.verificationKey(tenant, kid);
    if (key === undefined || key.algorithm !== alg) throw invalidToken();
    const read = verifyJws(key, jws.signed, jws.signature) ? readAccessTokenClaims(jws.payload) : undefined;
    if (read === undefined) throw invalidToken();
    const claims = { ...read, signedBy: key.id };
    const made = { kid, claims, principal: principalOf(claims) };
    this.#verified.set(digest, made);
    return made;
  };
}

/** Requests that wait with the same token share what it says. */
type VerifiedToken = {
  readonly kid: string;
  readonly claims: SignedClaims;
  readonly principal: Principal;
};

function invalidToken(): ServiceError {
  return new ServiceError('invalid_token', { detail: 'The access token is not valid.' });
}
