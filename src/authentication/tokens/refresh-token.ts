// When a refresh token may be exchanged, and when its use is a theft. Reads no clock.

import { type KeyState, mayAuthenticate } from '../../identity/keys/key.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import { canonicalizeScopes } from '../../platform/scope-hash.ts';
import { grantScopes, intersectScopes } from '../../platform/scopes.ts';
import type { AgentClaim } from './access-token.ts';

export const REFRESH_TOKEN = 'refresh_token';

/** Seconds in which a lost answer may be asked for again. */
const GRACE = 10;

/** A refresh token as it is stored, with everything that its use depends on. `now`: the database's clock at the reading. */
export type StoredRefreshToken = {
  readonly id: string;
  readonly tenantId: string;
  readonly familyId: string;
  readonly keyId: string;
  readonly clientId: string;
  readonly scopes: readonly string[];
  readonly audience: string;
  readonly jkt: string | null;
  readonly createdAt: Date;
  readonly familyExpiresAt: Date;
  readonly isRevoked: boolean;
  readonly now: Date;
  /** Its first use: when, for which request (SHA-256), and what it gave. */
  readonly use: {
    readonly at: Date;
    readonly request: Uint8Array;
    readonly successor: { readonly id: string; readonly hash: Uint8Array; readonly isFresh: boolean };
  } | null;
  readonly agent: AgentClaim & {
    readonly id: string;
    readonly status: 'active' | 'suspended';
    readonly isDeleted: boolean;
    readonly scopes: readonly string[];
    /** The usual audience of its tokens, then further ones. */
    readonly audiences: readonly string[];
  };
  /** `fingerprint`: null when the key is gone. */
  readonly key: {
    readonly fingerprint: string | null;
    readonly state: KeyState;
    readonly sunsetAt: Date | null;
  };
};

/** What a refresh asks for; `jkt`: the key of its DPoP proof; `digest`: SHA-256 of `describeRequest`. */
export type RefreshRequest = {
  readonly scope: string | undefined;
  readonly resource: string | undefined;
  readonly jkt: string | undefined;
};

/** What is to be done with a request. `reuse`: the whole family ends, and the answer is `invalid_grant`. */
export type RefreshVerdict =
  | { readonly verdict: 'rotate' }
  | { readonly verdict: 'repeat'; readonly successor: { readonly id: string; readonly hash: Uint8Array } }
  | { readonly verdict: 'reuse' };

/** The text by which an identical retry is known: two requests that ask for the same have the same. */
export function describeRequest({ scope, resource, jkt }: RefreshRequest): string {
  return JSON.stringify([scope ?? null, resource ?? null, jkt ?? null]);
}

/** @throws ServiceError `invalid_client` for another client id than the token's (RFC 6749 §6); absent is the token's */
export function checkRefreshClient(clientId: string | undefined, expected: string): void {
  if (clientId !== undefined && clientId !== expected)
    throw new ServiceError('invalid_client', { detail: 'The client_id is not the one that got this token.' });
}

/**
 * Judges the use of a token. Order: client and key of the proof first, as without them a request must not end the family; then the end of
 * the family, which is no reuse; then the agent and its key; then reuse.
 * @param request.digest SHA-256 of `describeRequest`
 * @throws ServiceError `invalid_client`, `invalid_dpop_proof`, `invalid_grant`
 */
export function judgeRefresh(
  token: StoredRefreshToken,
  request: RefreshRequest & { readonly clientId: string | undefined; readonly digest: Uint8Array },
): RefreshVerdict {
  checkRefreshClient(request.clientId, token.clientId);
  if (token.jkt !== null && token.jkt !== request.jkt)
    throw new ServiceError('invalid_dpop_proof', {
      detail: 'The refresh token is bound to a key, and needs a DPoP proof by it.',
    });
  if (token.isRevoked || token.familyExpiresAt <= token.now) throw refreshRefused();
  checkHolder(token);
  const { use } = token;
  if (use === null) return { verdict: 'rotate' };
  const isRetry =
    token.now.getTime() - use.at.getTime() <= GRACE * 1000 &&
    use.successor.isFresh &&
    isSame(use.request, request.digest);
  return isRetry ? { verdict: 'repeat', successor: use.successor } : { verdict: 'reuse' };
}

/** Whether the token could be exchanged now: unused, not revoked, in time, of an agent and key that may authenticate. */
export function isLive(token: StoredRefreshToken): boolean {
  const { isRevoked, familyExpiresAt, now, use } = token;
  return !isRevoked && use === null && familyExpiresAt > now && isHolderGood(token);
}

/**
 * What the new access token may do. The refresh token itself keeps its scopes (RFC 6749 §6).
 * @returns scopes: those asked for, else all of the token's that the agent still has; audience: the resource asked for (RFC 8707 §2.2),
 *   else the family's
 * @throws ServiceError `invalid_scope` for one beyond the token's or the agent's; `invalid_target` for an audience that is not the agent's,
 *   also when it was: a token for another one than the client expects would only fail later
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
          : 'The resource is none of the audiences that this agent may ask for.',
    });
  return { scopes, audience };
}

/** The one answer to a token that is unknown, spent, revoked or expired. */
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
