// The rule of who may put a credential behind an agent: a key, an enrollment token, a rule of a workload issuer.
import type { Principal } from '../../platform/context.ts';
import { checkGrantor } from '../../platform/scopes.ts';
import { AGENT_CLIENT_ID, type AgentRecord, isCapable } from '../agents/agent.ts';

/**
 * Checks that a caller may put a credential behind an agent. An agent may do that for itself.
 * @param principal undefined for an operator, and for an agent that enrolls
 * @throws ServiceError `insufficient_scope` naming the scopes that the caller lacks: those that the agent has or has
 *   had, which somebody may give back, and `agents:capabilities` for an agent that has or has had a capability
 */
export function checkCredentialGrantor(
  principal: Principal | undefined,
  agent: Pick<AgentRecord, 'id' | 'scopes' | 'hadScopes' | 'capabilities' | 'hadCapabilities'>,
): void {
  const isItself = principal?.agentId === agent.id && principal.clientId === AGENT_CLIENT_ID;
  const scopes = [...agent.scopes, ...agent.hadScopes];
  if (!isItself) checkGrantor(principal, { holder: 'agent', scopes, isCapable: isCapable(agent) });
}
