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
import { bindUseCases } from '../../platform/use-cases.ts';
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
  accessTokenLifetime: number;
  refreshTokenLifetime: number;
  now?: (() => number) | undefined;
};

/**
 * Issues and verifies the tokens of a tenant. Source: Specification, "Agent access token claims"; RFC 9068.
 * @param accessTokenLifetime seconds @param refreshTokenLifetime seconds, of a whole family
 * @param now milliseconds since 1970
 */
export function createTokenService(needs: TokenNeeds) {
  const tools = prepareToken(needs);
  return {
    ...bindUseCases(tools, {
      issueAccessToken,
      prepareAccessTokens,
      prepareRefreshToken,
      revokeTokensOfAgent,
      admitTokensOfAgent,
      revokeTokensOfKey,
      verifyAccessToken,
      endAccessTokensOf,
      authenticate,
    }),
    findKeyOfToken,
  };
}

export type TokenService = ReturnType<typeof createTokenService>;

type TokenTools = ReturnType<typeof prepareToken>;

/** Requests that wait with the same token share what it says. */
type VerifiedToken = {
  readonly kid: string;
  readonly claims: SignedClaims;
  readonly principal: Principal;
};

function prepareToken({ now = Date.now, ...needs }: TokenNeeds) {
  // The cache stores only that a text has a correct signature and what it says, which cannot change. All other checks
  // are made for each request.
  const verified = createBoundedCache<VerifiedToken>({ limit: VERIFIED_KEPT });
  return { ...needs, now, verified };
}

/**
 * Signs an access token with the tenant's issuer key. One read of the issuer keys every 2 s, else no round trip.
 */
async function issueAccessToken(
  needs: TokenTools,
  tenant: Tenant,
  grant: AccessTokenGrant,
): Promise<IssuedAccessToken> {
  const { claims: _, ...issued } = (await prepareAccessTokens(needs, tenant))(grant);
  return issued;
}

/** Prepares a signature. The returned function needs no connection, so it can run inside a transaction. */
async function prepareAccessTokens(
  { issuer, now, accessTokenLifetime }: TokenTools,
  tenant: Tenant,
): Promise<AccessTokenIssuer> {
  const sign = await issuer.prepareSigning(tenant);
  return (grant) => {
    const tokenId = newId();
    const issuedAt = Math.floor(now() / 1000);
    const claims = buildAccessTokenClaims(tenant, grant, {
      tokenId,
      issuedAt,
      lifetime: accessTokenLifetime,
    });
    const accessToken = sign(claims, { typ: ACCESS_TOKEN_TYPE });
    return { accessToken, tokenId, expiresIn: claims.exp - claims.iat, claims };
  };
}

/**
 * Creates the first refresh token of a new family. @returns its text (256 bits, base64url), which only the client may
 * get, and its row
 */
function prepareRefreshToken(
  { refreshTokenLifetime }: TokenTools,
  grant: RefreshGrant,
): { text: string; record: NewRefreshToken } {
  const text = newSecret();
  const id = newId();
  return {
    text,
    record: {
      id,
      familyId: id,
      hash: hashSecret(text),
      familyLifetime: refreshTokenLifetime,
      ...grant,
    },
  };
}

/** Ends all tokens of an agent in the caller's transaction. @returns how many refresh tokens were live */
async function revokeTokensOfAgent(
  { revocations }: TokenTools,
  unit: Transaction,
  agent: { readonly tenantId: string; readonly id: string },
  reason: string,
): Promise<number> {
  await revocations.endPrincipal(unit, agent.tenantId, agent.id);
  return (await refreshTokens.revokeOfAgent(unit, agent, reason)).length;
}

/** Accepts tokens that are issued to a reactivated agent from now on. Earlier tokens stay revoked. */
function admitTokensOfAgent(
  { revocations }: TokenTools,
  unit: Transaction,
  agent: { readonly tenantId: string; readonly id: string },
): Promise<void> {
  return revocations.admitPrincipal(unit, agent.tenantId, agent.id);
}

/**
 * Ends all tokens that one key of an agent got, in the caller's transaction. @returns how many refresh tokens were
 * live
 */
async function revokeTokensOfKey(
  needs: TokenTools,
  unit: Transaction,
  key: AgentPart,
  reason: string,
): Promise<number> {
  const ended = await refreshTokens.revokeOfKey(unit, key, reason);
  await endAccessTokensOf(needs, unit, ended);
  return ended.length;
}

/** Finds the id of the key with which the agent got this access token; undefined without a key. One round trip. */
async function findKeyOfToken(queryable: Queryable, token: AgentPart): Promise<string | undefined> {
  const time = madeAt(token.id);
  return time === undefined ? undefined : refreshTokens.findKeyOf(queryable, { ...token, madeAt: time });
}

/**
 * Reads a valid access token of this tenant, for any audience and bound to any key. While a tenant is suspended, none
 * of its tokens is valid.
 * @throws ServiceError `invalid_token`, `token_expired`, `token_revoked`
 */
async function verifyAccessToken(needs: TokenTools, tenant: Tenant, token: string): Promise<SignedClaims> {
  const { claims } = await readSigned(needs, tenant, token);
  checkIssued(claims, tenant, needs.now());
  // Checked here, because the feed keeps a revocation for about a day and a suspension may last longer.
  if (tenant.suspended) throw new ServiceError('token_revoked', { detail: 'The tenant is suspended.' });
  await needs.revocations.check(claims);
  return claims;
}

/** Ends the access tokens that were issued with these refresh tokens of one agent and may still be live. */
async function endAccessTokensOf(
  { revocations }: TokenTools,
  unit: Transaction,
  ended: readonly EndedRefreshToken[],
): Promise<void> {
  const [first] = ended;
  if (first === undefined) return;
  const client = { client_id: AGENT_CLIENT_ID, sub: first.agentId };
  const tokens = ended.flatMap(({ accessTokenIds }) => accessTokenIds.map((id) => ({ id })));
  await revocations.endTokens(unit, first.tenantId, client, tokens);
}

/**
 * Authenticates an access token for the service's own routes. No round trip, except one read of the issuer keys
 * every 2 s.
 * @throws ServiceError `invalid_token` (malformed, longer than 8 KiB, another `typ`, a `crit`, an unknown key, a
 * bad signature, another issuer or tenant, bound to a key), `token_expired`, `token_revoked`, `insufficient_scope`
 * (another audience)
 */
async function authenticate(
  needs: TokenTools,
  tenant: Tenant,
  token: string,
  presentation?: Presentation | undefined,
): Promise<Principal> {
  const { claims, principal } = await readSigned(needs, tenant, token);
  checkAccessToken(claims, tenant, needs.now(), presentation);
  await needs.revocations.check(claims);
  return principal;
}

/** Reads the claims of an access token after verifying its signature by the tenant's issuer. */
async function readSigned(
  { verified, issuer }: TokenTools,
  tenant: Tenant,
  token: string,
): Promise<VerifiedToken> {
  const digest = hash('sha256', token, 'base64');
  const known = verified.peek(digest);
  if (known !== undefined) {
    const key = await issuer.verificationKey(tenant, known.kid);
    if (key?.id !== known.claims.signedBy) throw invalidToken();
    verified.set(digest, known);
    return known;
  }
  const jws = parseCompactJws(token);
  if (jws === null) throw invalidToken();
  const { alg, typ, kid, crit } = jws.header;
  if (typ !== ACCESS_TOKEN_TYPE || crit !== undefined || typeof kid !== 'string') throw invalidToken();
  const key = await issuer.verificationKey(tenant, kid);
  if (key === undefined || key.algorithm !== alg) throw invalidToken();
  const read = verifyJws(key, jws.signed, jws.signature) ? readAccessTokenClaims(jws.payload) : undefined;
  if (read === undefined) throw invalidToken();
  const claims = { ...read, signedBy: key.id };
  const made = { kid, claims, principal: principalOf(claims) };
  verified.set(digest, made);
  return made;
}

function invalidToken(): ServiceError {
  return new ServiceError('invalid_token', { detail: 'The access token is not valid.' });
}
