// Remembers which agent a request was accepted for, so that no framework's types have to be extended.
import type { VerifiedAgent } from './claims.ts';

const agents = new WeakMap<object, VerifiedAgent>();

export function rememberAgent(request: object, agent: VerifiedAgent): void {
  agents.set(request, agent);
}

/**
 * Returns the agent of a request that passed the guard.
 * @param request what the framework gives the handler: Express's request, Koa's context
 * @throws Error when no guard has accepted the request, which is a mistake in the routes
 */
export function agentOf(request: object): VerifiedAgent {
  const agent = agents.get(request);
  if (agent === undefined)
    throw new Error('No guard has accepted this request: mount requireAgent before the route.');
  return agent;
}
