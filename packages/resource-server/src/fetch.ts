// The adapter for handlers from Request to Response: workers, Deno, Bun, Hono, route handlers of web frameworks.
import type { Rules } from './checks.ts';
import type { VerifiedAgent } from './claims.ts';
import type { GuardedRequest } from './credentials.ts';
import type { Guard } from './guard.ts';
import type { GuardAnswer } from './refusal.ts';

/**
 * Guards a handler.
 * @param handler gets the request, the agent, and what else the runtime passes
 */
export function requireAgent<Rest extends unknown[]>(
  guard: Guard,
  rules: Rules,
  handler: (request: Request, agent: VerifiedAgent, ...rest: Rest) => Response | Promise<Response>,
): (request: Request, ...rest: Rest) => Promise<Response> {
  guard.checkRules(rules);
  return async (request, ...rest) => {
    const decision = await guard.authorize(fromFetchRequest(request), rules);
    if (decision.agent === undefined) return toResponse(decision.answer);
    const response = await handler(request, decision.agent, ...rest);
    const added = Object.entries(decision.headers);
    if (added.length === 0) return response;
    // The headers of a response that was fetched cannot be changed.
    const changed = new Response(response.body, response);
    for (const [name, value] of added) changed.headers.set(name, value);
    return changed;
  };
}

/** @returns the answer with the protected resource metadata (RFC 9728); undefined for a request for something else */
export function serveMetadata({ metadata }: Guard, request: Request): Response | undefined {
  const isMetadata = request.method === 'GET' && new URL(request.url).pathname === metadata.path;
  return isMetadata ? toResponse(metadata.answer) : undefined;
}

export function fromFetchRequest(request: Request): GuardedRequest {
  const { pathname, search } = new URL(request.url);
  return {
    method: request.method,
    target: pathname + search,
    header: (name) => {
      const value = request.headers.get(name);
      return value === null ? [] : [value];
    },
  };
}

function toResponse({ status, headers, body }: GuardAnswer): Response {
  return new Response(body, { status, headers });
}
