// The adapter for Express (4 and 5) and Node's HTTP server. It does not import Express.
import type { Rules } from './checks.ts';
import type { Guard } from './guard.ts';
import { fromNodeRequest, type NodeRequest, rememberAgent } from './node-request.ts';
import type { GuardAnswer } from './refusal.ts';

export { agentOf } from './node-request.ts';

type NodeResponse = {
  setHeader(name: string, value: string): unknown;
  writeHead(status: number, headers: Record<string, string>): unknown;
  end(body: string): unknown;
};
type Next = (error?: unknown) => void;

/** @returns a middleware that answers refused requests, and passes the others on: `agentOf(request)` is the agent */
export function requireAgent(guard: Guard, rules: Rules = {}) {
  guard.checkRules(rules);
  return async (request: NodeRequest, response: NodeResponse, next: Next): Promise<void> => {
    try {
      const decision = await guard.authorize(fromNodeRequest(request), rules);
      if (decision.agent === undefined) return send(response, decision.answer);
      rememberAgent(request, decision.agent);
      for (const [name, value] of Object.entries(decision.headers)) response.setHeader(name, value);
    } catch (error) {
      // Express 4 does not see a promise that is rejected.
      return next(error);
    }
    next();
  };
}

/** @returns a middleware that serves the protected resource metadata (RFC 9728). Mount it at the root. */
export function serveMetadata({ metadata }: Guard) {
  return (request: NodeRequest, response: NodeResponse, next: Next): void => {
    const { method, target } = fromNodeRequest(request);
    if (method === 'GET' && target.split('?')[0] === metadata.path) send(response, metadata.answer);
    else next();
  };
}

function send(response: NodeResponse, { status, headers, body }: GuardAnswer): void {
  response.writeHead(status, { ...headers });
  response.end(body);
}
