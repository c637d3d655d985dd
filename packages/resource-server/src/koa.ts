// The adapter for Koa. It does not import Koa.
import type { Rules } from './checks.ts';
import type { Guard } from './guard.ts';
import { fromNodeRequest, type NodeRequest, rememberAgent } from './node-request.ts';
import type { GuardAnswer } from './refusal.ts';

export { agentOf } from './node-request.ts';

type KoaContext = {
  readonly req: NodeRequest;
  readonly originalUrl: string;
  status: number;
  body: unknown;
  set(headers: Record<string, string>): unknown;
};
type Next = () => Promise<unknown>;

/** @returns a middleware that answers refused requests, and passes the others on: `agentOf(ctx)` is the agent */
export function requireAgent(guard: Guard, rules: Rules = {}) {
  guard.checkRules(rules);
  return async (ctx: KoaContext, next: Next): Promise<void> => {
    const request = { ...fromNodeRequest(ctx.req), target: ctx.originalUrl };
    const decision = await guard.authorize(request, rules);
    if (decision.agent === undefined) return send(ctx, decision.answer);
    rememberAgent(ctx, decision.agent);
    ctx.set({ ...decision.headers });
    await next();
  };
}

/** @returns a middleware that serves the protected resource metadata (RFC 9728). */
export function serveMetadata({ metadata }: Guard) {
  return async (ctx: KoaContext, next: Next): Promise<void> => {
    if (ctx.req.method === 'GET' && ctx.originalUrl.split('?')[0] === metadata.path)
      send(ctx, metadata.answer);
    else await next();
  };
}

function send(ctx: KoaContext, { status, headers, body }: GuardAnswer): void {
  ctx.status = status;
  ctx.body = body;
  // After the body, whose type Koa would otherwise guess.
  ctx.set({ ...headers });
}
