// The routes of delegations.
import { linkToReceipt } from '../../identity/agents/receipt-link.ts';
import { created, locate, ok, page } from '../../platform/http/answers.ts';
import { readFields } from '../../platform/http/field-names.ts';
import { defineRoutes, type Route } from '../../platform/http/route.ts';
import { NEW_DELEGATIONS } from './delegation.examples.ts';
import {
  createDelegationBody,
  createdDelegationSchema,
  delegationListQuery,
  delegationListSchema,
  delegationParams,
  delegationSchema,
  presentDelegation,
  revokeDelegationBody,
} from './delegation.schemas.ts';
import type { DelegationService } from './delegation.service.ts';

const COMMON = {
  tag: 'Delegations',
  about: 'Which agent may act for which user.',
  read: 'delegations:read',
  write: 'delegations:write',
} as const;
const ROOT = '/api/v1/delegations';

/** Management of delegations. Source: Specification, "Anchor and delegation". */
export function createDelegationRoutes({ delegations }: { delegations: DelegationService }): Route[] {
  return defineRoutes(COMMON, [
    {
      method: 'GET',
      path: ROOT,
      operationId: 'listDelegations',
      summary: 'List delegations, the newest first',
      request: { query: delegationListQuery },
      responses: { 200: { description: 'A page of delegations', schema: delegationListSchema } },
      handler: async ({ context, query }) =>
        page(await delegations.list(context, readFields(query)), presentDelegation),
    },
    {
      method: 'POST',
      path: ROOT,
      operationId: 'createDelegation',
      summary: 'Record that a user lets an agent act for him',
      description:
        'Until it expires or is revoked, the agent can exchange a token of the user for one with which it acts for that user (RFC 8693), within the scopes that user, agent and delegation have in common.',
      idempotent: true,
      secretFields: ['subject'],
      request: { body: createDelegationBody, examples: NEW_DELEGATIONS },
      responses: {
        201: { description: 'The delegation', schema: createdDelegationSchema, headers: ['location'] },
      },
      handler: async ({ context, body }) => {
        const delegation = await delegations.create(context, {
          ...readFields(body),
          expiresAt: new Date(body.expires_at),
        });
        return created(presentDelegation(delegation), locate(context, `${ROOT}/${delegation.id}`));
      },
    },
    {
      method: 'GET',
      path: `${ROOT}/:id`,
      operationId: 'getDelegation',
      summary: 'Read one delegation',
      request: { params: delegationParams },
      responses: { 200: { description: 'The delegation', schema: delegationSchema } },
      handler: async ({ context, params }) =>
        ok(presentDelegation(await delegations.get(context, params.id))),
    },
    {
      method: 'POST',
      path: `${ROOT}/:id/revoke`,
      operationId: 'revokeDelegation',
      summary: 'Revoke a delegation; again, nothing happens',
      request: { params: delegationParams, body: revokeDelegationBody },
      exists: (context, { id }) => delegations.exists(context, id),
      responses: {
        200: { description: 'The delegation, revoked', schema: delegationSchema, headers: ['link'] },
      },
      handler: async ({ context, params, body }) => {
        const delegation = await delegations.revoke(context, params.id, body.reason);
        return ok(
          presentDelegation(delegation),
          linkToReceipt(context, delegation.agentId, delegation.receiptId),
        );
      },
    },
  ]);
}
