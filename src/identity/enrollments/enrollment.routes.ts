// The routes of enrollment: management's, and the agent's own, which takes no access token. They must never decide anything.
import { defineRoute, type Route } from '../../platform/http/route.ts';
import { keySchema, presentKey } from '../keys/key.schemas.ts';
import {
  agentEnrollmentsParams,
  createdEnrollmentSchema,
  createEnrollmentBody,
  ENROLL_PATH,
  enrollBody,
  enrollmentListQuery,
  enrollmentListSchema,
  enrollmentParams,
  presentCreatedEnrollment,
  presentEnrollment,
} from './enrollment.schemas.ts';
import type { EnrollmentService } from './enrollment.service.ts';

const TAG = 'Enrollment';
const ROOT = '/api/v1/agents/:agent_id/enrollment-tokens';

/** One-time tokens with which agents register a key by themselves. */
export function createEnrollmentRoutes({ enrollments }: { enrollments: EnrollmentService }): Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: ROOT,
      operationId: 'listEnrollmentTokens',
      summary: "List an agent's enrollment tokens, the newest first, without their texts",
      tag: TAG,
      scope: 'agents:read',
      request: { params: agentEnrollmentsParams, query: enrollmentListQuery },
      exists: (context, params) => enrollments.hasAgent(context, params.agent_id),
      responses: { 200: { description: 'A page of enrollment tokens', schema: enrollmentListSchema } },
      errors: ['not_found'],
      handler: async ({ context, params, query }) => {
        const page = await enrollments.list(context, params.agent_id, query);
        return {
          status: 200,
          body: { data: page.data.map(presentEnrollment), next_cursor: page.nextCursor },
        };
      },
    }),
    defineRoute({
      method: 'POST',
      path: ROOT,
      operationId: 'createEnrollmentToken',
      summary: 'Make a token with which the agent registers one key by itself, within the hour',
      tag: TAG,
      scope: 'agents:write',
      idempotent: true,
      secretFields: ['token'],
      request: { params: agentEnrollmentsParams, body: createEnrollmentBody },
      exists: (context, params) => enrollments.hasAgent(context, params.agent_id),
      responses: {
        201: {
          description: 'The token, and all that the agent needs to use it',
          schema: createdEnrollmentSchema,
        },
      },
      errors: ['not_found'],
      handler: async ({ context, params }) => ({
        status: 201,
        headers: { 'cache-control': 'no-store' },
        body: presentCreatedEnrollment(await enrollments.create(context, params.agent_id), context.tenant),
      }),
    }),
    defineRoute({
      method: 'DELETE',
      path: `${ROOT}/:enrollment_token_id`,
      operationId: 'revokeEnrollmentToken',
      summary: 'Revoke an enrollment token that was not used',
      tag: TAG,
      scope: 'agents:write',
      request: { params: enrollmentParams },
      responses: { 204: { description: 'The token is worth nothing' } },
      errors: ['not_found', 'conflict'],
      handler: async ({ context, params }) => {
        await enrollments.revoke(context, params.agent_id, params.enrollment_token_id);
        return { status: 204 };
      },
    }),
    defineRoute({
      method: 'POST',
      path: ENROLL_PATH,
      operationId: 'enrollAgent',
      summary: 'Register the key of the agent that an enrollment token is for',
      tag: TAG,
      scope: null,
      request: { body: enrollBody },
      responses: { 201: { description: 'The key, verified', schema: keySchema } },
      errors: ['invalid_grant', 'policy_denied', 'key_exists'],
      handler: async ({ context, body }) => {
        const key = await enrollments.enroll(context, {
          token: body.token,
          algorithm: body.algorithm,
          publicKey: body.public_key,
          label: body.label,
          proof: body.proof,
        });
        return { status: 201, headers: { 'cache-control': 'no-store' }, body: presentKey(key) };
      },
    }),
  ];
}
