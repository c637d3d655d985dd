// The routes of agents' keys.
import { created, locate, ok, page } from '../../platform/http/answers.ts';
import { readFields } from '../../platform/http/field-names.ts';
import { defineRoutes, type Route } from '../../platform/http/route.ts';
import type { AgentService } from '../agents/agent.service.ts';
import { linkToReceipt } from '../agents/receipt-link.ts';
import { KEYS, REGISTRATIONS } from './key.examples.ts';
import {
  agentKeysParams,
  deprecateKeyBody,
  keyListQuery,
  keyListSchema,
  keyParams,
  keySchema,
  presentKey,
  registerKeyBody,
  revokeKeyBody,
} from './key.schemas.ts';
import type { KeyService } from './key.service.ts';

const COMMON = {
  tag: 'Keys',
  about: 'The public keys with which an agent authenticates.',
  read: 'agents:read',
  write: 'agents:write',
} as const;

/** Source: Specification, "Agent management". */
export function createKeyRoutes({
  keys,
  agents,
}: {
  keys: KeyService;
  agents: Pick<AgentService, 'exists'>;
}): Route[] {
  return defineRoutes(COMMON, [
    {
      method: 'GET',
      path: '/api/v1/agents/:agent_id/keys',
      operationId: 'listAgentKeys',
      summary: "List an agent's keys, the newest first",
      request: { params: agentKeysParams, query: keyListQuery },
      exists: (context, params) => agents.exists(context, params.agent_id),
      responses: { 200: { description: 'A page of keys', schema: keyListSchema } },
      handler: async ({ context, params, query }) =>
        page(await keys.list(context, params.agent_id, query), presentKey),
    },
    {
      method: 'POST',
      path: '/api/v1/agents/:agent_id/keys',
      operationId: 'registerAgentKey',
      summary: 'Register a key',
      description:
        'Its fingerprint, the SHA-256 of the raw public key, names it at authentication. A key lives once in a tenant. It is verified by its first successful challenge, or now by `proof`. Private keys are refused.',
      idempotent: true,
      request: { params: agentKeysParams, body: registerKeyBody, examples: REGISTRATIONS },
      exists: (context, params) => agents.exists(context, params.agent_id),
      responses: {
        201: { description: 'The key', schema: keySchema, headers: ['location'], examples: KEYS },
      },
      errors: ['key_exists'],
      handler: async ({ context, params, body }) => {
        const key = await keys.register(context, params.agent_id, readFields(body));
        return created(presentKey(key), locate(context, `/api/v1/agents/${key.agentId}/keys/${key.id}`));
      },
    },
    {
      method: 'GET',
      path: '/api/v1/agents/:agent_id/keys/:key_id',
      operationId: 'getAgentKey',
      summary: 'Read one key',
      request: { params: keyParams },
      responses: { 200: { description: 'The key', schema: keySchema } },
      handler: async ({ context, params }) =>
        ok(presentKey(await keys.get(context, params.agent_id, params.key_id))),
    },
    {
      method: 'POST',
      path: '/api/v1/agents/:agent_id/keys/:key_id/deprecate',
      operationId: 'deprecateAgentKey',
      summary: 'Deprecate a key: it works, with a warning, until its sunset; again: moves the sunset',
      request: { params: keyParams, body: deprecateKeyBody },
      exists: (context, params) => keys.exists(context, params.agent_id, params.key_id),
      responses: { 200: { description: 'The key, deprecated', schema: keySchema } },
      errors: ['conflict'],
      handler: async ({ context, params, body }) => {
        const key = await keys.deprecate(context, params.agent_id, params.key_id, {
          sunsetAt: body.sunset_at === undefined ? undefined : new Date(body.sunset_at),
          sunsetAfterSeconds: body.sunset_after_seconds,
        });
        return ok(presentKey(key));
      },
    },
    {
      method: 'POST',
      path: '/api/v1/agents/:agent_id/keys/:key_id/revoke',
      operationId: 'revokeAgentKey',
      summary: 'Revoke a key for good; its refresh tokens end',
      request: { params: keyParams, body: revokeKeyBody },
      exists: (context, params) => keys.exists(context, params.agent_id, params.key_id),
      responses: { 200: { description: 'The key, revoked', schema: keySchema, headers: ['link'] } },
      handler: async ({ context, params, body }) => {
        const key = await keys.revoke(context, params.agent_id, params.key_id, body.reason);
        return ok(presentKey(key), linkToReceipt(context, params.agent_id, key.receiptId));
      },
    },
  ]);
}
