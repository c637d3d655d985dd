// The routes of agents. They must never decide anything: shapes in, one service call, shapes out.
import { defineRoute, type Route } from '../../platform/http/route.ts';
import { AGENTS, NEW_AGENTS } from './agent.examples.ts';
import {
  agentListQuery,
  agentListSchema,
  agentParams,
  agentSchema,
  agentStatusBody,
  createAgentBody,
  presentAgent,
  updateAgentBody,
} from './agent.schemas.ts';
import type { AgentService } from './agent.service.ts';

const TAG = 'Agents';

/** Source: Specification, "Agent management". */
export function createAgentRoutes({ agents }: { agents: AgentService }): Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/api/v1/agents',
      operationId: 'listAgents',
      summary: 'List agents, the newest first',
      tag: TAG,
      scope: 'agents:read',
      request: { query: agentListQuery },
      responses: { 200: { description: 'A page of agents', schema: agentListSchema } },
      errors: [],
      handler: async ({ context, query }) => {
        const page = await agents.list(context, query);
        return {
          status: 200,
          body: {
            data: page.data.map((agent) => presentAgent(agent, context.tenant)),
            next_cursor: page.nextCursor,
          },
        };
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/api/v1/agents',
      operationId: 'createAgent',
      summary: 'Create an agent',
      description:
        'It can authenticate once it has a key (or an application) of its own; `registration` tells what it lacks for being correctly registered.',
      tag: TAG,
      scope: 'agents:write',
      idempotent: true,
      request: { body: createAgentBody, examples: NEW_AGENTS },
      responses: {
        201: { description: 'The agent', schema: agentSchema, headers: ['location'] },
      },
      errors: [],
      handler: async ({ context, body }) => {
        const agent = await agents.create(context, body);
        return {
          status: 201,
          headers: { location: `${context.tenant.baseUrl}/api/v1/agents/${agent.id}` },
          body: presentAgent(agent, context.tenant),
        };
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/api/v1/agents/:id',
      operationId: 'getAgent',
      summary: 'Read one agent',
      tag: TAG,
      scope: 'agents:read',
      request: { params: agentParams },
      responses: { 200: { description: 'The agent', schema: agentSchema, examples: AGENTS } },
      errors: ['not_found'],
      handler: async ({ context, params }) => ({
        status: 200,
        body: presentAgent(await agents.get(context, params.id), context.tenant),
      }),
    }),
    defineRoute({
      method: 'PATCH',
      path: '/api/v1/agents/:id',
      operationId: 'updateAgent',
      summary: 'Update an agent',
      tag: TAG,
      scope: 'agents:write',
      request: { params: agentParams, body: updateAgentBody },
      exists: (context, { id }) => agents.exists(context, id),
      responses: { 200: { description: 'The agent, changed', schema: agentSchema } },
      errors: ['not_found'],
      handler: async ({ context, params, body }) => {
        const agent = await agents.update(context, params.id, body);
        return { status: 200, body: presentAgent(agent, context.tenant) };
      },
    }),
    defineRoute({
      method: 'DELETE',
      path: '/api/v1/agents/:id',
      operationId: 'deleteAgent',
      summary:
        'Delete an agent; its refresh tokens end, its unrevoked keys are free again, its anchors are revoked',
      tag: TAG,
      scope: 'agents:write',
      request: { params: agentParams },
      responses: { 204: { description: 'The agent is deleted' } },
      errors: ['not_found'],
      handler: async ({ context, params }) => {
        await agents.remove(context, params.id);
        return { status: 204 };
      },
    }),
    defineRoute({
      method: 'PATCH',
      path: '/api/v1/agents/:id/suspend',
      operationId: 'suspendAgent',
      summary: "Suspend an agent's access; its refresh tokens end",
      tag: TAG,
      scope: 'agents:write',
      request: { params: agentParams, body: agentStatusBody },
      exists: (context, { id }) => agents.exists(context, id),
      responses: { 200: { description: 'The agent, suspended', schema: agentSchema } },
      errors: ['not_found'],
      handler: async ({ context, params }) => ({
        status: 200,
        body: presentAgent(await agents.suspend(context, params.id), context.tenant),
      }),
    }),
    defineRoute({
      method: 'PATCH',
      path: '/api/v1/agents/:id/reactivate',
      operationId: 'reactivateAgent',
      summary: 'Make a suspended agent active again',
      tag: TAG,
      scope: 'agents:write',
      request: { params: agentParams, body: agentStatusBody },
      exists: (context, { id }) => agents.exists(context, id),
      responses: { 200: { description: 'The agent, active', schema: agentSchema } },
      errors: ['not_found'],
      handler: async ({ context, params }) => ({
        status: 200,
        body: presentAgent(await agents.reactivate(context, params.id), context.tenant),
      }),
    }),
  ];
}
