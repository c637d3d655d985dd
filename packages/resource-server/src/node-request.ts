// Reads requests of Node's HTTP server, which Express and Koa have inside, and remembers their agents.
import type { VerifiedAgent } from './claims.ts';
import type { GuardedRequest } from './credentials.ts';

/** What is read of Node's IncomingMessage. Express keeps the target before a router's mount in `originalUrl`. */
export type NodeRequest = {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  readonly originalUrl?: string | undefined;
  /** Names and values in turn, as they came: `headers` hides a repeated Authorization. */
  readonly rawHeaders: readonly string[];
};

export function fromNodeRequest(request: NodeRequest): GuardedRequest {
  const { method = '', rawHeaders } = request;
  return {
    method,
    target: request.originalUrl ?? request.url ?? '',
    header: (name) =>
      rawHeaders.filter((_, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === name),
  };
}

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
