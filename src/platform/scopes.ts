// The scopes of the service, and the rule that decides which requested scopes are granted.

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
  'applications:read',
  'applications:write',
  'webhooks:read',
  'webhooks:write',
  'delegations:read',
  'delegations:write',
  'events:write',
  'audit:read',
  'tenant:write',
] as const;
export type ManagementScope = (typeof MANAGEMENT_SCOPES)[number];

export const APPLICATION_SCOPES = [...AGENT_SCOPES, ...MANAGEMENT_SCOPES] as const;

const AGENT_SCOPE_SET: ReadonlySet<string> = new Set(AGENT_SCOPES);

/** True when agents may request this scope. */
export function isAgentScope(scope: string): scope is AgentScope {
  return AGENT_SCOPE_SET.has(scope);
}

/** True when each of `scopes` is in `allowed`. */
export function isWithin(scopes: readonly string[], allowed: readonly string[]): boolean {
  return scopes.every((scope) => allowed.includes(scope));
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
  if (refused !== undefined) throw invalidScope(`The scope ${refused} is not allowed.`);
  return scopes;
}

function invalidScope(detail: string): ServiceError {
  return new ServiceError('invalid_scope', { detail });
}
