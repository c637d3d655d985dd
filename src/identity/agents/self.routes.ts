// The agent's own reading of itself. It must never take a token of anybody else.
import { ok } from '../../platform/http/answers.ts';
import { defineRoute, type Route } from '../../platform/http/route.ts';
import { presentSelf, selfSchema } from './self.schemas.ts';
import type { SelfService } from './self.service.ts';

/** `GET /auth/agent/self`, for a token of an agent, whatever its scopes and its audience. */
export function createSelfRoutes({ self }: { self: SelfService }): Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/auth/agent/self',
      operationId: 'getSelf',
      summary: "Read the agent that the token is of, and its keys; for any of the agent's audiences",
      tag: 'Agent authentication',
      scope: null,
      subject: 'agent',
      anyAudience: true,
      responses: { 200: { description: 'The agent', schema: selfSchema } },
      handler: async ({ context }) =>
        ok(presentSelf(await self.describe(context), context.tenant), { 'cache-control': 'no-store' }),
    }),
  ];
}
