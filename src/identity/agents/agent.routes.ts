// The routes of agents.
import { created, locate, ok, page } from '../../platform/http/answers.ts';
import { readFields } from '../../platform/http/field-names.ts';
import { noFields } from '../../platform/http/field-schemas.ts';
import { defineRoutes, type Route } from '../../platform/http/route.ts';
import { AGENTS, NEW_AGENTS } from './agent.examples.ts';
import {
  agentListQuery,
  agentListSchema,
  agentParams,
  agentSchema,
  createAgentBody,
  presentAgent,
  updateAgentBody,
} from './agent.schemas.ts';
import type { AgentService } from './agent.service.ts';
import { linkToReceipt } from './receipt-link.ts';

const COMMON = {
  tag: 'Agents',
  about: 'The agents of the tenant. One is correctly registered when its `registration` is complete.',
  read: 'agents:read',
  write: 'agents:write',
} as const;

/** Source: Specification, "Agent management". */
export function createAgentRoutes({ agents }: { agents: AgentService }): Route[] {
  return defineRoutes(COMMON, [
    {
      method: 'GET',
      path: '/api/v1/agents',
      operationId: 'listAgents',
      summary: 'List agents, the newest first',
      request: { query: agentListQuery },
      responses: { 200: { description: 'A page of agents', schema: agentListSchema } },
      handler: async ({ context, query }) =>
        page(await agents.list(context, query), (agent) => presentAgent(agent, context.tenant)),
    },
    {
      method: 'POST',
      path: '/api/v1/agents',
      operationId: 'createAgent',
      summary: 'Create an agent',
      description:
        'It can authenticate once it has a key (or an application) of its own; `registration` tells what it lacks for being correctly registered.',
      idempotent: true,
      request: { body: createAgentBody, examples: NEW_AGENTS },
      responses: {
        201: { description: 'The agent', schema: agentSchema, headers: ['location'] },
      },
      handler: async ({ context, body }) => {
        const agent = await agents.create(context, readFields(body));
        return created(presentAgent(agent, context.tenant), locate(context, `/api/v1/agents/${agent.id}`));
      },
    },
    {
      method: 'GET',
      path: '/api/v1/agents/:agent_id',
      operationId: 'getAgent',
      summary: 'Read one agent',
      request: { params: agentParams },
      responses: { 200: { description: 'The agent', schema: agentSchema, examples: AGENTS } },
      handler: async ({ context, params }) =>
        ok(presentAgent(await agents.get(context, params.agent_id), context.tenant)),
    },
    {
      method: 'PATCH',
      path: '/api/v1/agents/:agent_id',
      operationId: 'updateAgent',
      summary: 'Update an agent',
      request: { params: agentParams, body: updateAgentBody },
      exists: (context, { agent_id }) => agents.exists(context, agent_id),
      responses: { 200: { description: 'The agent, changed', schema: agentSchema } },
      handler: async ({ context, params, body }) =>
        ok(presentAgent(await agents.update(context, params.agent_id, readFields(body)), context.tenant)),
    },
    {
      method: 'DELETE',
      path: '/api/v1/agents/:agent_id',
      operationId: 'deleteAgent',
      summary:
        'Delete an agent; its refresh tokens end, its unrevoked keys are free again, its anchors are revoked',
      request: { params: agentParams },
      responses: { 204: { description: 'The agent is deleted', headers: ['link'] } },
      handler: async ({ context, params }) => {
        const receiptId = await agents.remove(context, params.agent_id);
        return { status: 204, headers: linkToReceipt(context, params.agent_id, receiptId) };
      },
    },
    {
      method: 'PATCH',
      path: '/api/v1/agents/:agent_id/suspend',
      operationId: 'suspendAgent',
      summary: "Suspend an agent's access; its refresh tokens end",
      request: { params: agentParams, body: noFields },
      exists: (context, { agent_id }) => agents.exists(context, agent_id),
      responses: { 200: { description: 'The agent, suspended', schema: agentSchema, headers: ['link'] } },
      handler: async ({ context, params }) => {
        const agent = await agents.suspend(context, params.agent_id);
        return ok(presentAgent(agent, context.tenant), linkToReceipt(context, agent.id, agent.receiptId));
      },
    },
    {
      method: 'PATCH',
      path: '/api/v1/agents/:agent_id/reactivate',
      operationId: 'reactivateAgent',
      summary: 'Make a suspended agent active again',
      request: { params: agentParams, body: noFields },
      exists: (context, { agent_id }) => agents.exists(context, agent_id),
      responses: { 200: { description: 'The agent, active', schema: agentSchema } },
      handler: async ({ context, params }) =>
        ok(presentAgent(await agents.reactivate(context, params.agent_id), context.tenant)),
    },
  ]);
}
