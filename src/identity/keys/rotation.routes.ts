// The routes of key rotations, for the tenant and for the agent itself.

import type { RequestContext } from '../../platform/context.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import { accepted, locate, ok, page } from '../../platform/http/answers.ts';
import { readFields } from '../../platform/http/field-names.ts';
import { defineRoutes, type Route } from '../../platform/http/route.ts';
import type { AgentService } from '../agents/agent.service.ts';
import { AGENT_CLIENT_ID } from '../agents/agent.ts';
import { agentKeysParams } from './key.schemas.ts';
import {
  beginOwnRotationBody,
  beginRotationBody,
  cancelRotationBody,
  presentRotation,
  rotationListQuery,
  rotationListSchema,
  rotationParams,
  rotationSchema,
  type WorkflowPlace,
} from './rotation.schemas.ts';
import type { KeyRotation, RotationService } from './rotation.service.ts';

const COMMON = {
  tag: 'Key rotations',
  about: 'One key of an agent takes the place of another, with a time in which both work.',
  read: 'agents:read',
  write: 'agents:write',
} as const;
const ROOT = '/api/v1/agents/:agent_id/keys/rotations';

/** Source: Specification, "Key state". @param workflows address of Temporal's web UI */
export function createRotationRoutes({
  rotations,
  agents,
  workflows,
}: {
  rotations: RotationService;
  agents: Pick<AgentService, 'exists'>;
  workflows: WorkflowPlace;
}): Route[] {
  const present = (rotation: KeyRotation) => presentRotation(rotation, workflows);
  const begun = (context: RequestContext, rotation: KeyRotation) =>
    accepted(
      present(rotation),
      locate(context, `/api/v1/agents/${rotation.agentId}/keys/rotations/${rotation.id}`),
    );

  return defineRoutes(COMMON, [
    {
      method: 'GET',
      path: ROOT,
      operationId: 'listKeyRotations',
      summary: "List rotations of an agent's keys, the newest first",
      request: { params: agentKeysParams, query: rotationListQuery },
      exists: (context, params) => agents.exists(context, params.agent_id),
      responses: { 200: { description: 'A page of rotations', schema: rotationListSchema } },
      handler: async ({ context, params, query }) =>
        page(await rotations.list(context, params.agent_id, query), present),
    },
    {
      method: 'POST',
      path: ROOT,
      operationId: 'beginKeyRotation',
      summary: 'Register a new key and retire an old one once the agent uses the new one',
      idempotent: true,
      request: { params: agentKeysParams, body: beginRotationBody },
      exists: (context, params) => agents.exists(context, params.agent_id),
      responses: {
        202: { description: 'The rotation, which goes on', schema: rotationSchema, headers: ['location'] },
      },
      errors: ['key_exists', 'conflict'],
      handler: async ({ context, params, body }) =>
        begun(context, await rotations.begin(context, params.agent_id, readFields(body))),
    },
    {
      method: 'GET',
      path: `${ROOT}/:rotation_id`,
      operationId: 'getKeyRotation',
      summary: 'Read where a rotation stands',
      request: { params: rotationParams },
      responses: { 200: { description: 'The rotation', schema: rotationSchema } },
      handler: async ({ context, params }) =>
        ok(present(await rotations.get(context, params.agent_id, params.rotation_id))),
    },
    {
      method: 'POST',
      path: `${ROOT}/:rotation_id/cancel`,
      operationId: 'cancelKeyRotation',
      summary: 'Cancel a rotation to which the agent has not switched yet; both keys stay as they are',
      request: { params: rotationParams, body: cancelRotationBody },
      exists: (context, params) => rotations.exists(context, params.agent_id, params.rotation_id),
      responses: { 200: { description: 'The rotation, canceled', schema: rotationSchema } },
      errors: ['conflict'],
      handler: async ({ context, params, body }) =>
        ok(present(await rotations.cancel(context, params.agent_id, params.rotation_id, body.reason))),
    },
    {
      method: 'POST',
      path: '/auth/agent/keys/rotate',
      cors: true,
      operationId: 'rotateOwnKey',
      summary: 'Let an agent rotate its own key, with proofs by the old and by the new one',
      tag: 'Agent authentication',
      scope: null,
      subject: 'agent',
      anyAudience: true,
      idempotent: true,
      request: { body: beginOwnRotationBody },
      responses: {
        202: { description: 'The rotation, which goes on', schema: rotationSchema, headers: ['location'] },
      },
      errors: ['policy_denied', 'key_exists', 'conflict'],
      handler: async ({ context, body }) => {
        const { old_key_id: id, old_key_fingerprint: fingerprint = '', proof, ...rest } = body;
        const rotation = await rotations.beginOwn(context, ownAgent(context), {
          ...readFields(rest),
          oldKey: id === undefined ? { fingerprint } : { id },
          proof: readFields(proof),
        });
        return begun(context, rotation);
      },
    },
  ]);
}

/** Returns the agent that authenticated to get the token. Refuses the token of a linked application. */
function ownAgent({ principal }: RequestContext): string {
  if (principal?.agentId === undefined || principal.clientId !== AGENT_CLIENT_ID)
    throw new ServiceError('insufficient_scope', { detail: 'The token is not of an agent by itself.' });
  return principal.agentId;
}
