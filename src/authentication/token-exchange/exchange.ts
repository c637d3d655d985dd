// Rules of the token exchange. The new token has no right that the subject, actor, delegation or agent lacks. Other
// files sign and verify tokens.
// docs/decisions/0008-token-exchange.md
import { validate as isUuid } from 'uuid';
import { type Act, type Actor, actorsOf, buildAct } from '../../platform/act.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import { grantScopes, intersectScopes } from '../../platform/scopes.ts';
import type { SignedClaims } from '../tokens/access-token.ts';
import { TOKEN_TYPES } from '../tokens/grant-types.ts';
import type { Subject } from '../users/subject.ts';

/** The scopes of each side; `client` makes the request. An absent list is no limit: ID tokens have no scopes. */
export type ScopeLimits = {
  readonly client: readonly string[];
  readonly subject?: readonly string[] | undefined;
  readonly actor: readonly string[];
  readonly delegation: readonly string[];
  readonly agent: readonly string[];
};

/** Ends are in Unix seconds. `issuedAt` and `lifetime` (seconds) are those of a usual access token. */
export type ExpiryLimits = {
  readonly issuedAt: number;
  readonly lifetime: number;
  readonly subject: number;
  readonly actor: number;
  readonly delegation: number;
};

/**
 * Checks that an actor token is an agent's own token, not an application's token or a delegated token.
 * @throws ServiceError `invalid_request` (RFC 8693 §2.2.2)
 */
export function checkActor(claims: Pick<SignedClaims, 'sub' | 'subject_type' | 'client_id' | 'act'>): void {
  if (claims.subject_type !== 'agent' || claims.sub === claims.client_id)
    throw invalid('The actor token is not the token of an agent.');
  if (claims.act !== undefined) throw invalid('The actor token is itself a delegated token.');
}

/**
 * Checks that the application may use this actor. An application that is linked to an agent may use only that agent.
 * @throws ServiceError `invalid_request` (RFC 8693 §2.2.2: unacceptable by policy)
 */
export function checkLinkedAgent(linked: { readonly id: string } | undefined, actor: { sub: string }): void {
  if (linked !== undefined && linked.id !== actor.sub)
    throw invalid('The application is linked to another agent than the actor.');
}

/**
 * Checks that a token of this issuer may be a subject token.
 * @throws ServiceError `invalid_request` for a token that is bound to a key, or that the request declares as an ID
 * token
 */
export function checkOwnSubject({ cnf }: { readonly cnf?: unknown }, type: string): void {
  if (cnf !== undefined)
    throw invalid('The subject token is bound to a key of its holder and must not be passed on.');
  if (type === TOKEN_TYPES.idToken) throw invalid('The subject token is an access token, and no ID token.');
}

/**
 * Checks that the request has proved the key to which the actor token is bound (RFC 9449 §6).
 * @param key key of the request's proof
 * @throws ServiceError `invalid_dpop_proof`
 */
export function checkPossession(
  { cnf }: { readonly cnf?: { readonly jkt: string } | undefined },
  key: { readonly jkt: string } | undefined,
): void {
  if (cnf !== undefined && cnf.jkt !== key?.jkt)
    throw new ServiceError('invalid_dpop_proof', {
      detail: 'The actor token is bound to a key, and needs a DPoP proof by it.',
    });
}

/**
 * Returns the ids of this issuer's agents that acted for the user earlier.
 * @throws ServiceError `invalid_request` when a trusted issuer names an id that cannot be an agent's
 */
export function ownLinks(act: Act | undefined): string[] {
  const ids = actorsOf(act).flatMap(({ iss, sub }) => (iss === undefined ? [sub] : []));
  // Ids are compared as text, and ids of this issuer are in lower case.
  if (!ids.every((id) => isUuid(id) && id === id.toLowerCase()))
    throw invalid('The act claim of the subject token names no agent of this issuer.');
  return ids;
}

/**
 * Returns the ids of all tokens and principals from which a delegated token is derived. The token ends when one of them
 * ends.
 * @param parents for each exchanged token of this issuer, its id and the ids of everything that ends it
 * @param known ids that other claims of the new token already contain
 * @returns UUIDs without duplicates
 */
export function deriveFrom(parents: readonly (readonly string[])[], known: readonly string[]): string[] {
  const ids = parents.flat().filter((id) => isUuid(id) && !known.includes(id));
  return [...new Set(ids)];
}

/**
 * Checks the claim `may_act` of the subject token (RFC 8693 §4.4). If present, it must name the actor.
 * @param issuer of the actor token
 * @throws ServiceError `invalid_request` when it is malformed or names another actor
 */
export function checkMayAct(mayAct: unknown, actor: { readonly sub: string; readonly issuer: string }): void {
  if (mayAct === undefined) return;
  const { sub, iss } = (typeof mayAct === 'object' && mayAct !== null ? mayAct : {}) as Record<
    string,
    unknown
  >;
  if (sub !== actor.sub || (iss !== undefined && iss !== actor.issuer))
    throw invalid('The subject token does not let this actor act.');
}

/**
 * Computes the scopes of a delegated token: the requested scopes, or all scopes that every side allows.
 * @param requested the parameter `scope` @returns unique, sorted, never empty
 * @throws ServiceError `invalid_scope` when the parameter is malformed, a side does not allow a requested scope, or no
 * scope remains
 */
export function boundScopes(requested: string | undefined, limits: ScopeLimits): string[] {
  const { client, subject, actor, delegation, agent } = limits;
  const sides = [client, actor, agent, ...(subject === undefined ? [] : [subject])];
  return grantScopes(requested, sides.reduce<readonly string[]>(intersectScopes, delegation));
}

/**
 * Computes the end of a delegated token: the earliest end of all sides. @returns Unix seconds, after `issuedAt`
 * @throws ServiceError `delegation_expired` when less than a second of the delegation remains, `invalid_request` when
 * less than a second of a token remains
 */
export function boundExpiry({ issuedAt, lifetime, subject, actor, delegation }: ExpiryLimits): number {
  const tokens = Math.floor(Math.min(subject, actor));
  if (tokens <= issuedAt) throw invalid('The subject token or the actor token has expired.');
  if (Math.floor(delegation) <= issuedAt)
    throw new ServiceError('delegation_expired', { detail: 'The delegation is past its expires_at.' });
  return Math.min(issuedAt + lifetime, tokens, Math.floor(delegation));
}

/**
 * Chooses the audience of a delegated token.
 * @param requested `resource` or `audience` @param delegated the delegation's audience, null for any audience
 * @param agent audiences of the agent's tokens: `usual` is the default
 * @throws ServiceError `invalid_target` when the delegation or the agent does not have the audience: the agent may have
 * lost it since the delegation was made
 */
export function chooseAudience(
  requested: string | undefined,
  delegated: string | null,
  agent: { readonly usual: string; readonly others: readonly string[] },
): string {
  const chosen = requested ?? delegated ?? agent.usual;
  if (![agent.usual, ...agent.others].includes(chosen) || chosen !== (delegated ?? chosen))
    throw new ServiceError('invalid_target', {
      detail: 'The agent may not act for the user at this target.',
    });
  return chosen;
}

/**
 * Builds the subject claims of a delegated token. `subject_type` stays `agent`, so that a server that ignores `act`
 * does not accept the token as the user's session.
 * @param userId the user in the tenant @param subject the user, as named by the user's issuer
 * @param older claim `act` of the subject token
 * @throws ServiceError `invalid_request` when the chain of actors is too long
 */
export function buildDelegatedClaims(
  userId: string,
  { subject, actor, older }: { subject: Subject; actor: Actor; older: Act | undefined },
) {
  return {
    sub: userId,
    delegated_subject: { iss: subject.issuer, sub: subject.sub },
    subject_type: 'agent' as const,
    act: buildAct(actor, older),
  };
}

function invalid(detail: string): ServiceError {
  return new ServiceError('invalid_request', { detail });
}
