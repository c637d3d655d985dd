// Types of agents, and the rules for registration, audience and grants.
import type { RequestContext } from '../../platform/context.ts';
import { AGENT_SCOPES, areSameScopes, isWithin } from '../../platform/scopes.ts';
import type { AgentRow } from './agent.model.ts';

/** Source: Specification, "Agent status". */
export const AGENT_STATUSES = ['active', 'suspended'] as const;
export type AgentStatus = (typeof AGENT_STATUSES)[number];

/** `client_id` of every challenge, and of the tokens that are issued for it. Source: Specification, "Challenge". */
export const AGENT_CLIENT_ID = 'service-agent';

/** SQL: the row is of the agent `$3`, which is not deleted. */
export const OF_AGENT =
  'agent_id = $3 AND EXISTS (SELECT FROM agents WHERE agents.id = agent_id AND deleted_at IS NULL)';

export type AgentRecord = Omit<AgentRow, 'deletedAt'>;

/** A key, an anchor or the like of an agent. A statement finds nothing when the tenant or the agent is another. */
export type AgentPart = { readonly tenantId: string; readonly agentId: string; readonly id: string };

export function partOf({ tenant }: Pick<RequestContext, 'tenant'>, agentId: string, id: string): AgentPart {
  return { tenantId: tenant.id, agentId, id };
}

/** What the tokens of an agent may reach. */
type Reach = Pick<
  AgentRecord,
  'scopes' | 'audience' | 'audiences' | 'capabilities' | 'dpopBoundAccessTokens'
>;

/**
 * `verified`: a key or anchor is verified. `audited`: the audit log contains the creation and that verification.
 * `openEnrollmentTokens`: how many tokens there are with which it may register a key.
 */
export type RegistrationEvidence = {
  readonly verified: boolean;
  readonly audited: boolean;
  readonly openEnrollmentTokens: number;
};

/** Each part of "correctly registered", and whether all parts are true. */
export type Registration = Omit<RegistrationEvidence, 'openEnrollmentTokens'> & {
  readonly complete: boolean;
  readonly active: boolean;
  readonly scoped: boolean;
};

export type Agent = AgentRecord &
  Pick<RegistrationEvidence, 'openEnrollmentTokens'> & { readonly registration: Registration };

/**
 * Assesses whether the agent is correctly registered: it is active, at least one anchor or key is verified, its scopes
 * are limited to its job, and the audit log contains creation and verification. `scoped` is false for an agent that has
 * all scopes. Source: Specification, "Definition of a correctly registered agent".
 */
export function assessRegistration(
  agent: Pick<AgentRecord, 'status' | 'scopes'>,
  evidence: Omit<RegistrationEvidence, 'openEnrollmentTokens'>,
): Registration {
  const active = agent.status === 'active';
  const scoped = isWithin(agent.scopes, AGENT_SCOPES) && !isWithin(AGENT_SCOPES, agent.scopes);
  const { verified, audited } = evidence;
  return { complete: active && verified && scoped && audited, active, verified, scoped, audited };
}

/** What an agent keeps of before a change, because somebody may give it back. */
export function rememberHeld(
  before: Pick<AgentRecord, 'scopes' | 'hadScopes' | 'capabilities' | 'hadCapabilities'>,
  { scopes, capabilities }: Partial<Reach>,
): Partial<Pick<AgentRecord, 'hadScopes' | 'hadCapabilities'>> {
  return {
    ...(scopes !== undefined && { hadScopes: [...new Set([...before.hadScopes, ...before.scopes])] }),
    ...(capabilities !== undefined && isCapable(before) && { hadCapabilities: true }),
  };
}

/** True when the agent has a capability, or has had one, which somebody may give back. */
export function isCapable(agent: Pick<AgentRecord, 'capabilities' | 'hadCapabilities'>): boolean {
  return agent.hadCapabilities || agent.capabilities.length > 0;
}

/**
 * Returns whether a change needs all scopes that the agent has had, has and gets, and `agents:capabilities` for an
 * agent that has or has had a capability: it adds a capability or an audience, replaces the first audience, waives
 * proofs of a key, or changes the scopes. Taking a scope away needs them too, because it makes the check of the next
 * credential weaker. Taking a capability away does not: the agent's row remembers that it has had one.
 */
export function needsGrantor(
  before: Reach,
  { scopes, audience, audiences, capabilities, ...change }: Partial<Reach>,
): boolean {
  return (
    change.dpopBoundAccessTokens === false ||
    audience !== undefined ||
    !areSameScopes(scopes ?? before.scopes, before.scopes) ||
    !isWithin(audiences ?? [], before.audiences) ||
    !isWithin(capabilities ?? [], before.capabilities)
  );
}

/** Returns whether a change takes a scope or an audience away, or asks for proofs of a key. */
export function narrows(before: Reach, { scopes, audience, audiences, ...change }: Partial<Reach>): boolean {
  return (
    change.dpopBoundAccessTokens === true ||
    audience !== undefined ||
    !isWithin(before.scopes, scopes ?? before.scopes) ||
    !isWithin(before.audiences, audiences ?? before.audiences)
  );
}

/** Returns the audience of the agent's tokens: the agent's, or the tenant's when the agent has none. */
export function resolveAudience(
  agent: Pick<AgentRecord, 'audience'>,
  tenant: { readonly audience: string },
): string {
  return agent.audience ?? tenant.audience;
}

/**
 * Chooses the audience of a token by the parameter `resource` (RFC 8707). The resource must equal one of the agent's
 * audiences. Without `resource` the first audience is used.
 * @returns undefined when the resource is not one of the agent's audiences
 */
export function chooseAudience(
  agent: Pick<AgentRecord, 'audience' | 'audiences'>,
  tenant: { readonly audience: string },
  resource: string | null | undefined,
): string | undefined {
  const usual = resolveAudience(agent, tenant);
  if (resource === undefined || resource === null) return usual;
  return [usual, ...agent.audiences].find((audience) => audience === resource);
}

/**
 * Says that a resource is not allowed, and names the one that was meant, where a slash at the end is the difference.
 * @param isAllowed tells whether an agent may ask for an audience
 */
export function describeNoTarget(
  resource: string | null | undefined,
  isAllowed: (audience: string) => boolean,
): string {
  const turned = resource?.endsWith('/') ? resource.slice(0, -1) : `${resource}/`;
  const hint = isAllowed(turned) ? `; ${turned} is one` : '';
  return `The resource is none of the audiences that this agent may ask for${hint}.`;
}
