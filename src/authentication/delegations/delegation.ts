// Types of delegations, and the rules by which a delegation allows an agent to act for a user.
import type { AgentRecord } from '../../identity/agents/agent.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import { isWithin } from '../../platform/scopes.ts';
import type { Subject } from '../users/subject.ts';
import type { StoredUser } from '../users/user.service.ts';
import type { DelegationRow } from './delegation.model.ts';

/** Source: Specification, "Anchor and delegation". */
export const DELEGATION_STATUSES = ['active', 'expired', 'revoked'] as const;
export type DelegationStatus = (typeof DELEGATION_STATUSES)[number];

/** `id` is the `sub` of delegated tokens. Without `issuer` and `sub` the user is forgotten. */
export type DelegatingUser = { readonly id: string } & {
  readonly [Name in keyof Subject]: Subject[Name] | null;
};

/** `audience` null means any audience of the agent. `status` is computed; a deleted agent's delegations are revoked. */
export type Delegation = Omit<DelegationRow, 'expiredAt' | 'userId'> & {
  readonly subject: DelegatingUser;
  readonly status: DelegationStatus;
};

/** The agent of a delegation, as stored now. `audience` null means the tenant's audience. */
export type DelegateAgent = Pick<
  AgentRecord,
  'id' | 'name' | 'capabilities' | 'scopes' | 'audience' | 'audiences' | 'dpopBoundAccessTokens'
>;

/** The request of an agent. Without `scopes` or `audience`, the service chooses them. */
export type DelegationRequest = {
  readonly subject: Subject;
  readonly agentId: string;
  readonly scopes?: readonly string[] | undefined;
  readonly audience?: string | undefined;
  /** Ids of the agents that acted for the user earlier in the chain. */
  readonly links?: readonly string[] | undefined;
  /** The client that asks, as it was read. */
  readonly client: { readonly id: string; readonly version: string };
};

export type DelegationCandidate = {
  readonly delegation: Pick<Delegation, 'id' | 'scopes' | 'audience' | 'status' | 'expiresAt'>;
  readonly agent: DelegateAgent;
  readonly user: StoredUser;
  readonly agentStatus: 'active' | 'suspended' | 'deleted';
  /** Whether each agent in `links` exists and is active. */
  readonly linksActive: boolean;
  /** Whether the client is as it was read. */
  readonly isOfClient: boolean;
};

export type UsableDelegation = Pick<DelegationCandidate, 'delegation' | 'agent' | 'user'>;

/**
 * Decides whether a delegation allows a request (Specification, "Errors"; RFC 8693 §2.2.2).
 * @param candidate undefined when the user has delegated nothing to the agent
 * @throws ServiceError `invalid_grant` without a delegation, or for a revoked one; `delegation_expired`;
 * `policy_denied` when the agent or an agent in `links` is suspended or deleted; `invalid_scope` and `invalid_target`
 * for a scope or audience that the delegation does not include
 */
export function judgeDelegation(
  candidate: DelegationCandidate | undefined,
  request: Pick<DelegationRequest, 'scopes' | 'audience'>,
): UsableDelegation {
  if (candidate === undefined || candidate.agentStatus === 'deleted')
    throw refusal('invalid_grant', 'The user has delegated nothing to this agent.');
  const { delegation, agent, user, agentStatus, linksActive } = candidate;
  if (delegation.status === 'revoked') throw refusal('invalid_grant', 'The delegation was revoked.');
  if (delegation.status === 'expired')
    throw refusal('delegation_expired', 'The delegation is past its expires_at.');
  if (agentStatus === 'suspended') throw refusal('policy_denied', 'The agent is suspended.');
  if (!linksActive)
    throw refusal('policy_denied', 'An agent in the chain of delegation is suspended or deleted.');
  if (!isWithin(request.scopes ?? [], delegation.scopes))
    throw refusal('invalid_scope', 'The scope exceeds what the user has delegated.');
  if (
    request.audience !== undefined &&
    delegation.audience !== null &&
    request.audience !== delegation.audience
  )
    throw refusal('invalid_target', 'The delegation is for another audience.');
  return { delegation, agent, user };
}

function refusal(code: ConstructorParameters<typeof ServiceError>[0], detail: string): ServiceError {
  return new ServiceError(code, { detail });
}
