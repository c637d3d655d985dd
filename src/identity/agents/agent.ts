// What an agent is, and when it is correctly registered. Types and rules only.
import { AGENT_SCOPES, isWithin } from '../../platform/scopes.ts';
import type { AgentRow } from './agent.model.ts';

/** Source: Specification, "Agent status". */
export const AGENT_STATUSES = ['active', 'suspended'] as const;
export type AgentStatus = (typeof AGENT_STATUSES)[number];

/** `client_id` of every challenge and of the tokens that are issued for it. Source: Specification, "Challenge". */
export const AGENT_CLIENT_ID = 'service-agent';

/** An agent as it is stored. */
export type AgentRecord = Omit<AgentRow, 'deletedAt'>;

/**
 * Facts about an agent from other rooms: whether a key or anchor is verified, and whether the audit log has its
 * creation and that verification.
 */
export type RegistrationEvidence = { readonly verified: boolean; readonly audited: boolean };

/** The parts of "correctly registered", and whether all of them are true. */
export type Registration = RegistrationEvidence & {
  readonly complete: boolean;
  readonly active: boolean;
  readonly scoped: boolean;
};

/** An agent, with whether it is correctly registered. */
export type Agent = AgentRecord & { readonly registration: Registration };

/**
 * Whether the agent is correctly registered: its status is active, at least one anchor or key is verified, its scopes
 * are limited to its job, and the audit log records creation and verification. An agent that has all scopes is not
 * limited, so `scoped` is true only for a selection of them. Source: Specification, "Definition of a correctly
 * registered agent".
 */
export function assessRegistration(
  agent: Pick<AgentRecord, 'status' | 'scopes'>,
  evidence: RegistrationEvidence,
): Registration {
  const active = agent.status === 'active';
  const scoped = isWithin(agent.scopes, AGENT_SCOPES) && !isWithin(AGENT_SCOPES, agent.scopes);
  const { verified, audited } = evidence;
  return { complete: active && verified && scoped && audited, active, verified, scoped, audited };
}

/** The audience of the agent's tokens: its own, else the tenant's. */
export function resolveAudience(
  agent: Pick<AgentRecord, 'audience'>,
  tenant: { readonly audience: string },
): string {
  return agent.audience ?? tenant.audience;
}

/**
 * The audience of a token that is requested with `resource` (RFC 8707): one of the agent's audiences, compared exactly;
 * without `resource` the first.
 * @returns undefined for a resource that is not one of them
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
