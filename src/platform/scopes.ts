// The scopes of the service, the rule that decides which requested scopes are granted, and the rule that nobody grants
// more than they hold.

import type { Principal } from './context.ts';
import { ServiceError } from './errors/service-error.ts';
import { canonicalizeScopes, parseScope } from './scope-hash.ts';

export { parseScope };

/** Source: Specification, "Allowed scopes for agents". */
export const AGENT_SCOPES = [
  'openid',
  'profile',
  'email',
  'offline_access',
  'wallet:sign',
  'vault:read',
] as const;
type AgentScope = (typeof AGENT_SCOPES)[number];

export const MANAGEMENT_SCOPES = [
  'agents:read',
  'agents:write',
  'agents:capabilities',
  'agents:impersonate',
  'applications:read',
  'applications:write',
  'webhooks:read',
  'webhooks:write',
  'delegations:read',
  'delegations:write',
  'events:read',
  'events:write',
  'audit:read',
  'tenant:read',
  'tenant:write',
  'ssf.read',
  'ssf.manage',
] as const;
export type ManagementScope = (typeof MANAGEMENT_SCOPES)[number];

/**
 * Scopes that were made narrower later, each with the older scope that allows the same and more. Who holds the older
 * one can also grant the narrower one.
 */
const BROADER: Readonly<Record<string, ManagementScope>> = {
  'events:read': 'webhooks:read',
  'tenant:read': 'tenant:write',
};

/** Lists the scopes of which a token needs one where `scope` is asked for, that one first. */
export function sufficientScopes(scope: string): readonly string[] {
  const broader = BROADER[scope];
  return broader === undefined ? [scope] : [scope, broader];
}

/** True when `held` has the scope, or an older one that allows it. */
export function holdsScope(held: readonly string[], scope: string): boolean {
  return sufficientScopes(scope).some((one) => held.includes(one));
}

/** What a token with the scope may do: for openapi.json, and for the table of the specification. */
export const SCOPE_MEANINGS: Readonly<Record<AgentScope | ManagementScope, string>> = {
  openid: 'read `/userinfo`',
  profile: 'for resource servers',
  email: 'for resource servers',
  offline_access: 'for resource servers',
  'wallet:sign': 'for the wallet',
  'vault:read': 'for the vault',
  'agents:read': 'read agents, keys, rotations, anchors, enrollment tokens and workload issuers',
  'agents:write':
    "rename, suspend, reactivate and delete agents, end their keys, manage anchors, delete workload issuers; with all of an agent's scopes, and `agents:capabilities` when it has or has had a capability, also create it, change its scopes, give it an audience, a key, a rotation or an enrollment token, and map workloads to it",
  'agents:capabilities':
    'give agents any capability, where `agents:write` allows the rest; also needed for a credential of an agent that has or has had one. What a capability permits, the API that requires it decides',
  'agents:impersonate':
    'stands for the scopes of any agent that the token lacks, and for the capabilities that the agent has already, where `agents:write` or `applications:write` needs them',
  'applications:read': 'read applications',
  'applications:write':
    'rename and delete applications, end their secrets, keys and grants; with all scopes of an application and of its agent also create it, change its scopes, agent or audience, and give it a secret, a key or a grant',
  'webhooks:read':
    'read subscriptions, deliveries and their accounts, event types, and the feed of all events',
  'webhooks:write': 'manage subscriptions and their secrets, send, retry, replay and cancel deliveries',
  'delegations:read': 'read delegations and trusted issuers',
  'delegations:write':
    'manage delegations and trusted issuers, and so decide for which users agents may act, within the scopes of agent and application',
  'events:read': 'read the feed of all events, single events, event types and their contract',
  'events:write': "publish events of the tenant's own types",
  'audit:read': 'read the audit log and its checkpoints',
  'tenant:read': 'read the tenant and the schedule of its issuer keys',
  'tenant:write': 'read and change the tenant, read, rotate and revoke its issuer keys',
  'ssf.read': "read the client's own streams of security events, and poll them",
  'ssf.manage': "create, change, verify and delete the client's own streams of security events",
};

/** Allows a caller to create, widen and get credentials of agents whose scopes it lacks. */
const IMPERSONATION: ManagementScope = 'agents:impersonate';

/** Allows a caller to give agents capabilities, and to get credentials of agents that have some. */
const CAPABILITIES: ManagementScope = 'agents:capabilities';

export const APPLICATION_SCOPES = [...AGENT_SCOPES, ...MANAGEMENT_SCOPES] as const;

const AGENT_SCOPE_SET: ReadonlySet<string> = new Set(AGENT_SCOPES);

type Grantor = Pick<Principal, 'scopes'>;

/** True when agents may request this scope. */
export function isAgentScope(scope: string): scope is AgentScope {
  return AGENT_SCOPE_SET.has(scope);
}

/** True when each of `scopes` is in `allowed`. */
export function isWithin(scopes: readonly string[], allowed: readonly string[]): boolean {
  return scopes.every((scope) => allowed.includes(scope));
}

/** True when both lists have the same scopes, in any order. */
export function areSameScopes(left: readonly string[], right: readonly string[]): boolean {
  return isWithin(left, right) && isWithin(right, left);
}

/** @returns the scopes in both lists, unique and sorted */
export function intersectScopes(held: readonly string[], limit: readonly string[]): string[] {
  return canonicalizeScopes(held.filter((scope) => limit.includes(scope)));
}

/**
 * Decides the scopes of a token request (RFC 6749 §3.3).
 * @param requested the `scope` parameter; undefined when the request has none, which means all of `allowed`
 * @param allowed the scopes that the client or agent may have
 * @returns the granted scopes, unique and sorted by byte value; never empty
 * @throws ServiceError `invalid_scope` when the text is malformed or empty, names a scope outside `allowed`, or
 *   `allowed` is empty
 */
export function grantScopes(requested: string | undefined, allowed: readonly string[]): string[] {
  const scopes = requested === undefined ? canonicalizeScopes(allowed) : parseScope(requested);
  if (scopes === null) throw invalidScope('The scope is malformed.');
  if (scopes.length === 0) throw invalidScope('No scope is left to grant.');
  const refused = scopes.find((scope) => !allowed.includes(scope));
  if (refused !== undefined)
    throw invalidScope(`The scope ${refused} is not allowed; allowed: ${allowed.join(' ')}.`);
  return scopes;
}

/**
 * Checks that a caller itself holds the scopes that an agent or an application gets by its request, and
 * `agents:capabilities` for an agent with capabilities. For an agent the scope `agents:impersonate` stands for all of
 * them. Source: Specification, "Scopes of management".
 * @param grantor undefined for an operator, who may grant every scope
 * @param isCapable the agent has a capability, or has had one
 * @throws ServiceError `insufficient_scope` naming the missing scopes
 */
export function checkGrantor(
  grantor: Grantor | undefined,
  {
    holder,
    scopes,
    isCapable = false,
  }: {
    readonly holder: 'agent' | 'application';
    readonly scopes: readonly string[];
    readonly isCapable?: boolean | undefined;
  },
): void {
  if (grantor === undefined) return;
  const mayImpersonate = holder === 'agent' && grantor.scopes.includes(IMPERSONATION);
  const lacking = canonicalizeScopes(scopes.filter((scope) => !holdsScope(grantor.scopes, scope)));
  const faults = [
    ...(lacking.length === 0 ? [] : [`${lacking.join(' ')} of the ${holder}`]),
    ...(isCapable && !holdsScope(grantor.scopes, CAPABILITIES)
      ? [`${CAPABILITIES} for its capabilities`]
      : []),
  ];
  if (mayImpersonate || faults.length === 0) return;
  const instead = holder === 'agent' ? `, unless the token has ${IMPERSONATION}` : '';
  throw new ServiceError('insufficient_scope', {
    detail: `The token lacks ${faults.join(' and ')}: nobody can grant more than they hold${instead}.`,
  });
}

/**
 * Checks that a caller may give an agent capabilities. `agents:impersonate` does not stand for the scope: it makes a
 * caller one of the agents that there are, and no agent may have the capability.
 * @param grantor undefined for an operator
 * @param has what the agent has already
 * @throws ServiceError `insufficient_scope` naming `agents:capabilities`
 */
export function checkCapabilityGrantor(
  grantor: Grantor | undefined,
  given: readonly string[],
  has: readonly string[] = [],
): void {
  if (grantor === undefined || isWithin(given, has) || holdsScope(grantor.scopes, CAPABILITIES)) return;
  throw new ServiceError('insufficient_scope', {
    detail: `The token lacks ${CAPABILITIES} to give the agent a capability.`,
  });
}

function invalidScope(detail: string): ServiceError {
  return new ServiceError('invalid_scope', { detail });
}
