// Rules of refresh tokens: when a token is exchanged, and when its second use counts as theft. The caller passes the
// time.

import { type AgentRecord, describeNoTarget } from '../../identity/agents/agent.ts';
import { type KeyLife, mayAuthenticate } from '../../identity/keys/key.ts';
import type { Tenant } from '../../platform/context.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import { canonicalizeScopes } from '../../platform/scope-hash.ts';
import { grantScopes, intersectScopes } from '../../platform/scopes.ts';
import { checkProofGiven } from '../dpop/required-proof.ts';
import type { RefreshTokenRow } from './token.model.ts';

export const REFRESH_TOKEN = 'refresh_token';

/** Seconds after the first use in which an identical request gets the same successor (the answer was lost). */
export const GRACE = 10;

/** Greatest number of times that a successor is issued again. */
export const MOST_REPEATS = 3;

/** A stored refresh token and all rows that decide its use. `now` is the database's time of the read. */
export type StoredRefreshToken = Pick<
  RefreshTokenRow,
  | 'id'
  | 'tenantId'
  | 'familyId'
  | 'keyId'
  | 'clientId'
  | 'scopes'
  | 'audience'
  | 'jkt'
  | 'createdAt'
  | 'familyExpiresAt'
> & {
  readonly isRevoked: boolean;
  /** Another text after each change of its key or agent. */
  readonly version: string;
  /** A subscription gets the events of its use. */
  readonly isHeard: boolean;
  readonly now: Date;
  /** The first use: its time, the SHA-256 of its request, and the successor. */
  readonly use: {
    readonly at: Date;
    readonly request: Uint8Array;
    readonly successor: {
      readonly id: string;
      readonly hash: Uint8Array;
      readonly isFresh: boolean;
      /** How many times the successor was issued again. */
      readonly repeats: number;
    };
  } | null;
  readonly agent: Pick<
    AgentRecord,
    'id' | 'name' | 'capabilities' | 'status' | 'scopes' | 'dpopBoundAccessTokens'
  > & {
    readonly isDeleted: boolean;
    /** The default audience of the agent's tokens first, then further audiences. */
    readonly audiences: readonly string[];
  };
  /** `fingerprint` is null when the key is deleted. */
  readonly key: KeyLife & { readonly fingerprint: string | null };
};

/** The parameters of a refresh. `jkt` is the thumbprint of the key of its DPoP proof. */
export type RefreshRequest = {
  readonly scope: string | undefined;
  readonly resource: string | undefined;
  readonly jkt: string | undefined;
};

/** `rotate`: spend the token. `repeat`: issue the successor again. `reuse`: the whole family ends (`invalid_grant`). */
export type RefreshVerdict =
  | { readonly verdict: 'rotate' }
  | { readonly verdict: 'repeat'; readonly successor: { readonly id: string; readonly hash: Uint8Array } }
  | { readonly verdict: 'reuse' };

/**
 * Returns a text by which a repeated request is recognised: same scope, resource, key and address, same text.
 * @param address group of the client's address
 */
export function describeRequest({ scope, resource, jkt }: RefreshRequest, address: string): string {
  return JSON.stringify([scope ?? null, resource ?? null, jkt ?? null, address]);
}

/** @throws ServiceError `invalid_client` when a client id is given that is not the token's (RFC 6749 §6) */
export function checkRefreshClient(clientId: string | undefined, expected: string): void {
  if (clientId !== undefined && clientId !== expected)
    throw new ServiceError('invalid_client', { detail: 'The client_id is not the one that got this token.' });
}

/**
 * Decides on the use of a token. First it checks the client and the key of the proof, because a request without them
 * must not end the family. Then it checks whether the family has ended, which is not a reuse; then the agent and its
 * key; then whether the token was used before. Identical requests beyond `MOST_REPEATS` are refused and end nothing.
 * @param request.digest SHA-256 of `describeRequest`
 * @param tenant whose security profile may require a proof of a key
 * @throws ServiceError `invalid_client`, `invalid_dpop_proof`, `invalid_grant`
 */
export function judgeRefresh(
  token: StoredRefreshToken,
  request: RefreshRequest & { readonly clientId: string | undefined; readonly digest: Uint8Array },
  tenant: Pick<Tenant, 'securityProfile'>,
): RefreshVerdict {
  checkRefreshClient(request.clientId, token.clientId);
  if (token.jkt !== null && token.jkt !== request.jkt)
    throw new ServiceError('invalid_dpop_proof', {
      detail: 'The refresh token is bound to a key, and needs a DPoP proof by it.',
    });
  checkProofGiven(request.jkt === undefined ? undefined : { jkt: request.jkt }, tenant, token.agent);
  if (token.isRevoked || token.familyExpiresAt <= token.now) throw refreshRefused();
  checkHolder(token);
  const { use } = token;
  if (use === null) return { verdict: 'rotate' };
  const isRetry =
    token.now.getTime() - use.at.getTime() <= GRACE * 1000 &&
    use.successor.isFresh &&
    isSame(use.request, request.digest);
  if (!isRetry) return { verdict: 'reuse' };
  if (use.successor.repeats >= MOST_REPEATS) throw refreshRefused();
  return { verdict: 'repeat', successor: use.successor };
}

/** Returns whether the token is unused, not revoked, not expired, and its agent and key may authenticate. */
export function isLive(token: StoredRefreshToken): boolean {
  const { isRevoked, familyExpiresAt, now, use } = token;
  return !isRevoked && use === null && familyExpiresAt > now && isHolderGood(token);
}

/**
 * Decides the scopes and the audience of the new access token. The new refresh token keeps its scopes (RFC 6749 §6).
 * @returns scopes: the requested ones, or all of the token's scopes that the agent still has; audience: the requested
 * resource (RFC 8707 §2.2), or the family's audience
 * @throws ServiceError `invalid_scope` for a scope that the token or the agent does not have; `invalid_target` for an
 * audience that the agent does not have or no longer has
 */
export function decideRefresh(
  token: StoredRefreshToken,
  { scope, resource }: RefreshRequest,
): { scopes: string[]; audience: string } {
  const scopes = grantScopes(scope, intersectScopes(canonicalizeScopes(token.scopes), token.agent.scopes));
  const audience = resource ?? token.audience;
  if (!token.agent.audiences.includes(audience))
    throw new ServiceError('invalid_target', {
      detail:
        resource === undefined
          ? "The audience of this token is not the agent's any more: name another one with resource, or authenticate anew."
          : describeNoTarget(resource, (one) => token.agent.audiences.includes(one)),
    });
  return { scopes, audience };
}

/** Creates the error that an unknown, spent, revoked and expired token all get. */
export function refreshRefused(): ServiceError {
  return new ServiceError('invalid_grant', {
    detail: 'The refresh token is unknown, was used or revoked, or has expired.',
  });
}

function checkHolder(token: StoredRefreshToken): void {
  if (!isHolderGood(token)) throw refreshRefused();
}

function isHolderGood({ agent, key, now }: StoredRefreshToken): boolean {
  return agent.status === 'active' && !agent.isDeleted && mayAuthenticate(key, now);
}

function isSame(left: Uint8Array, right: Uint8Array): boolean {
  return left.length === right.length && left.every((byte, index) => byte === right[index]);
}
