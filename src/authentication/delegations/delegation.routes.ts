// The routes of delegations. They must never decide anything: shapes in, one service call, shapes out.
import { defineRoute, type Route } from '../../platform/http/route.ts';
import { NEW_DELEGATIONS } from './delegation.examples.ts';
import {
  createDelegationBody,
  delegationListQuery,
  delegationListSchema,
  delegationParams,
  delegationSchema,
  presentDelegation,
  revokeDelegationBody,
} from './delegation.schemas.ts';
import type { DelegationService } from './delegation.service.ts';

const TAG = 'Delegations';
const ROOT = '/api/v1/delegations';

/** Management of what users have delegated to agents. Source: Specification, "Anchor and delegation". */
export function createDelegationRoutes({ delegations }: { delegations: DelegationService }): Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: ROOT,
      operationId: 'listDelegations',
      summary: 'List delegations, the newest first',
      tag: TAG,
      scope: 'delegations:read',
      request: { query: delegationListQuery },
      responses: { 200: { description: 'A page of delegations', schema: delegationListSchema } },
      errors: [],
      handler: async ({ context, query }) => {
        const { data, nextCursor } = await delegations.list(context, {
          limit: query.limit,
          cursor: query.cursor,
          agentId: query.agent_id,
          status: query.status,
          subjectIssuer: query.subject_issuer,
          subjectSub: query.subject_sub,
        });
        return { status: 200, body: { data: data.map(presentDelegation), next_cursor: nextCursor } };
      },
    }),
    defineRoute({
      method: 'POST',
      path: ROOT,
      operationId: 'createDelegation',
      summary: 'Record that a user lets an agent act for him',
      description:
        'Until it expires or is revoked, the agent can exchange a token of the user for one with which it acts for that user (RFC 8693), within the scopes that user, agent and delegation have in common.',
      tag: TAG,
      scope: 'delegations:write',
      idempotent: true,
      request: { body: createDelegationBody, examples: NEW_DELEGATIONS },
      responses: {
        201: { description: 'The delegation', schema: delegationSchema, headers: ['location'] },
      },
      errors: [],
      handler: async ({ context, body }) => {
        const delegation = await delegations.create(context, {
          subject: body.subject,
          agentId: body.agent_id,
          scopes: body.scopes,
          audience: body.audience,
          expiresAt: new Date(body.expires_at),
        });
        return {
          status: 201,
          headers: { location: `${context.tenant.baseUrl}${ROOT}/${delegation.id}` },
          body: presentDelegation(delegation),
        };
      },
    }),
    defineRoute({
      method: 'GET',
      path: `${ROOT}/:id`,
      operationId: 'getDelegation',
      summary: 'Read one delegation',
      tag: TAG,
      scope: 'delegations:read',
      request: { params: delegationParams },
      responses: { 200: { description: 'The delegation', schema: delegationSchema } },
      errors: ['not_found'],
      handler: async ({ context, params }) => ({
        status: 200,
        body: presentDelegation(await delegations.get(context, params.id)),
      }),
    }),
    defineRoute({
      method: 'POST',
      path: `${ROOT}/:id/revoke`,
      operationId: 'revokeDelegation',
      summary: 'Revoke a delegation; again, nothing happens',
      tag: TAG,
      scope: 'delegations:write',
      request: { params: delegationParams, body: revokeDelegationBody },
      exists: (context, { id }) => delegations.exists(context, id),
      responses: { 200: { description: 'The delegation, revoked', schema: delegationSchema } },
      errors: ['not_found'],
      handler: async ({ context, params, body }) => ({
        status: 200,
        body: presentDelegation(await delegations.revoke(context, params.id, body.reason)),
      }),
    }),
  ];
}
