// The routes of enrollment: routes of management, and the agent's route, which needs no access token.

import { created, noContent, page } from '../../platform/http/answers.ts';
import { readFields } from '../../platform/http/field-names.ts';
import { noFields } from '../../platform/http/field-schemas.ts';
import { defineRoutes, type Route } from '../../platform/http/route.ts';
import type { AgentService } from '../agents/agent.service.ts';
import { keySchema, presentKey } from '../keys/key.schemas.ts';
import {
  agentEnrollmentsParams,
  createdEnrollmentSchema,
  ENROLL_PATH,
  enrollBody,
  enrollmentListQuery,
  enrollmentListSchema,
  enrollmentParams,
  presentCreatedEnrollment,
  presentEnrollment,
} from './enrollment.schemas.ts';
import type { EnrollmentService } from './enrollment.service.ts';

const COMMON = {
  tag: 'Enrollment',
  about: 'An agent registers its first key itself, with a one-time token and a proof.',
  read: 'agents:read',
  write: 'agents:write',
} as const;
const ROOT = '/api/v1/agents/:agent_id/enrollment-tokens';

export function createEnrollmentRoutes({
  enrollments,
  agents,
}: {
  enrollments: EnrollmentService;
  agents: Pick<AgentService, 'exists'>;
}): Route[] {
  return defineRoutes(COMMON, [
    {
      method: 'GET',
      path: ROOT,
      operationId: 'listEnrollmentTokens',
      summary: "List an agent's enrollment tokens, the newest first, without their texts",
      request: { params: agentEnrollmentsParams, query: enrollmentListQuery },
      exists: (context, params) => agents.exists(context, params.agent_id),
      responses: { 200: { description: 'A page of enrollment tokens', schema: enrollmentListSchema } },
      handler: async ({ context, params, query }) =>
        page(await enrollments.list(context, params.agent_id, query), presentEnrollment),
    },
    {
      method: 'POST',
      path: ROOT,
      operationId: 'createEnrollmentToken',
      summary: 'Make a token with which the agent registers one key by itself, within the hour',
      idempotent: true,
      secretFields: ['token'],
      request: { params: agentEnrollmentsParams, body: noFields },
      exists: (context, params) => agents.exists(context, params.agent_id),
      responses: {
        201: {
          description: 'The token, and all that the agent needs to use it',
          schema: createdEnrollmentSchema,
        },
      },
      handler: async ({ context, params }) =>
        created(
          presentCreatedEnrollment(await enrollments.create(context, params.agent_id), context.tenant),
          { 'cache-control': 'no-store' },
        ),
    },
    {
      method: 'DELETE',
      path: `${ROOT}/:enrollment_token_id`,
      operationId: 'revokeEnrollmentToken',
      summary: 'Revoke an enrollment token that was not used',
      request: { params: enrollmentParams },
      responses: { 204: { description: 'The token is worth nothing' } },
      errors: ['conflict'],
      handler: ({ context, params }) =>
        noContent(enrollments.revoke(context, params.agent_id, params.enrollment_token_id)),
    },
    {
      method: 'POST',
      path: ENROLL_PATH,
      cors: true,
      operationId: 'enrollAgent',
      proves: true,
      summary: 'Register the key of the agent that an enrollment token is for',
      scope: null,
      request: { body: enrollBody },
      responses: { 201: { description: 'The key, verified', schema: keySchema } },
      errors: ['invalid_grant', 'policy_denied', 'key_exists'],
      handler: async ({ context, body }) => {
        const key = await enrollments.enroll(context, readFields(body));
        return created(presentKey(key), { 'cache-control': 'no-store' });
      },
    },
  ]);
}
