// The routes of agents' anchors.

import { accepted, created, locate, ok, page } from '../../platform/http/answers.ts';
import { noFields } from '../../platform/http/field-schemas.ts';
import { defineRoutes, type Route } from '../../platform/http/route.ts';
import type { AgentService } from '../agents/agent.service.ts';
import {
  agentAnchorsParams,
  anchorListQuery,
  anchorListSchema,
  anchorParams,
  anchorSchema,
  createAnchorBody,
  presentAnchor,
  revokeAnchorBody,
} from './anchor.schemas.ts';
import type { AnchorService } from './anchor.service.ts';

const COMMON = {
  tag: 'Anchors',
  about: 'Domains that vouch for an agent.',
  read: 'agents:read',
  write: 'agents:write',
} as const;
const ROOT = '/api/v1/agents/:agent_id/anchors';

/** Source: Specification, "Anchor", "Create request": after creation an anchor or key must be attached and verified. */
export function createAnchorRoutes({
  anchors,
  agents,
}: {
  anchors: AnchorService;
  agents: Pick<AgentService, 'exists'>;
}): Route[] {
  return defineRoutes(COMMON, [
    {
      method: 'GET',
      path: ROOT,
      operationId: 'listAnchors',
      summary: "List an agent's anchors, the newest first",
      request: { params: agentAnchorsParams, query: anchorListQuery },
      exists: (context, params) => agents.exists(context, params.agent_id),
      responses: { 200: { description: 'A page of anchors', schema: anchorListSchema } },
      handler: async ({ context, params, query }) =>
        page(await anchors.list(context, params.agent_id, query), presentAnchor),
    },
    {
      method: 'POST',
      path: ROOT,
      operationId: 'createAnchor',
      summary: 'Anchor an agent to a domain',
      description:
        "Publish the answer's `proof` there within seven days. It is looked for every few seconds at first, and hourly in the end; once found, once a day.",
      idempotent: true,
      request: { params: agentAnchorsParams, body: createAnchorBody },
      exists: (context, params) => agents.exists(context, params.agent_id),
      responses: {
        201: {
          description:
            'The anchor, pending. Its `proof` belongs at `https://<value>/.well-known/countersign-anchor.txt` (`domain_https`) or in a TXT record at `_countersign.<value>` (`domain_dns`).',
          schema: anchorSchema,
          headers: ['location'],
        },
      },
      errors: ['conflict'],
      handler: async ({ context, params, body }) => {
        const anchor = await anchors.create(context, params.agent_id, body);
        return created(
          presentAnchor(anchor),
          locate(context, `/api/v1/agents/${anchor.agentId}/anchors/${anchor.id}`),
        );
      },
    },
    {
      method: 'GET',
      path: `${ROOT}/:anchor_id`,
      operationId: 'getAnchor',
      summary: 'Read one anchor',
      request: { params: anchorParams },
      responses: { 200: { description: 'The anchor', schema: anchorSchema } },
      handler: async ({ context, params }) =>
        ok(presentAnchor(await anchors.get(context, params.agent_id, params.anchor_id))),
    },
    {
      method: 'POST',
      path: `${ROOT}/:anchor_id/check`,
      operationId: 'checkAnchor',
      summary: "Have a pending or verified anchor's proof looked for now",
      description:
        'The look follows within seconds, a few seconds after the one before at the earliest: read the anchor until `last_checked_at` has changed. 409 for an anchor that has failed or is revoked.',
      idempotent: true,
      request: { params: anchorParams, body: noFields },
      exists: (context, params) => anchors.exists(context, params.agent_id, params.anchor_id),
      responses: {
        202: { description: 'The anchor, with the look in `next_check_at`', schema: anchorSchema },
      },
      errors: ['conflict'],
      handler: async ({ context, params }) =>
        accepted(presentAnchor(await anchors.requestCheck(context, params.agent_id, params.anchor_id))),
    },
    {
      method: 'POST',
      path: `${ROOT}/:anchor_id/revoke`,
      operationId: 'revokeAnchor',
      summary: 'Revoke a pending or verified anchor; one that has failed or is revoked stays as it is',
      request: { params: anchorParams, body: revokeAnchorBody },
      exists: (context, params) => anchors.exists(context, params.agent_id, params.anchor_id),
      responses: { 200: { description: 'The anchor', schema: anchorSchema } },
      handler: async ({ context, params, body }) =>
        ok(presentAnchor(await anchors.revoke(context, params.agent_id, params.anchor_id, body.reason))),
    },
  ]);
}
