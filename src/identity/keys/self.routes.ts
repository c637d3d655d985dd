// The route with which an agent reads its own record.
import { ok } from '../../platform/http/answers.ts';
import { defineRoute, type Route } from '../../platform/http/route.ts';
import { presentSelf, selfSchema } from './self.schemas.ts';
import type { SelfService } from './self.service.ts';

/** `GET /auth/agent/self`. It accepts an agent's token with any scopes and any audience. */
export function createSelfRoutes({ self }: { self: SelfService }): Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/auth/agent/self',
      cors: true,
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
