// The route by which a tenant forgets a user.
import { ok } from '../../platform/http/answers.ts';
import { defineRoutes, type Route } from '../../platform/http/route.ts';
import { FORGOTTEN_USERS } from './user.examples.ts';
import { forgetUserBody, forgottenUserSchema, presentForgotten } from './user.schemas.ts';
import type { UserForgettingService } from './user-forgetting.service.ts';

const COMMON = {
  tag: 'Users',
  about: 'The users whom delegations name.',
  scope: 'tenant:write',
} as const;

export function createUserRoutes({ forgetting }: { forgetting: UserForgettingService }): Route[] {
  return defineRoutes(COMMON, [
    {
      method: 'POST',
      path: '/api/v1/users/forget',
      operationId: 'forgetUser',
      summary: 'Forget a user; again, nobody of this name is known',
      description:
        "The user's key is destroyed: name and addresses can be read nowhere from then on, the audit log included, whose proofs stay valid. Delegations of the user are revoked, and tokens in the user's name end. It cannot be undone.",
      request: { body: forgetUserBody, examples: FORGOTTEN_USERS },
      responses: { 200: { description: 'What was done', schema: forgottenUserSchema } },
      handler: async ({ context, body }) =>
        ok(presentForgotten(await forgetting.forget(context, body.subject))),
    },
  ]);
}
