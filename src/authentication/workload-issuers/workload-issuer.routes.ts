// The routes of workload issuers.

import { created, locate, noContent, ok, page } from '../../platform/http/answers.ts';
import { readFields } from '../../platform/http/field-names.ts';
import { defineRoutes, type Route } from '../../platform/http/route.ts';
import { trustedIssuerListQuery, trustedIssuerParams } from '../trusted-issuers/trusted-issuer.schemas.ts';
import { NEW_WORKLOAD_ISSUERS } from './workload-issuer.examples.ts';
import {
  createWorkloadIssuerBody,
  presentWorkloadIssuer,
  readRules,
  updateWorkloadIssuerBody,
  workloadIssuerListSchema,
  workloadIssuerSchema,
} from './workload-issuer.schemas.ts';
import type { WorkloadIssuerService } from './workload-issuer.service.ts';

const COMMON = {
  tag: 'Workload issuers',
  about: 'Issuers whose assertions get tokens for an agent, so that a workload needs no stored secret.',
  read: 'agents:read',
  write: 'agents:write',
} as const;
const ROOT = '/api/v1/workload-issuers';

/** Management of workload issuers, whose assertions may be exchanged for tokens of agents (RFC 7523 §2.1). */
export function createWorkloadIssuerRoutes({
  workloadIssuers,
}: {
  workloadIssuers: WorkloadIssuerService;
}): Route[] {
  return defineRoutes(COMMON, [
    {
      method: 'GET',
      path: ROOT,
      operationId: 'listWorkloadIssuers',
      summary: 'List workload issuers, the newest first',
      request: { query: trustedIssuerListQuery },
      responses: { 200: { description: 'A page of workload issuers', schema: workloadIssuerListSchema } },
      handler: async ({ context, query }) =>
        page(await workloadIssuers.list(context, query), presentWorkloadIssuer),
    },
    {
      method: 'POST',
      path: ROOT,
      operationId: 'createWorkloadIssuer',
      summary: 'Trust an issuer to name the workloads of agents',
      description:
        'Its assertions then get tokens with the grant `jwt-bearer`, for the agent of the first rule that fits. Its keys come from `jwks_uri` or are in `jwks`: one of the two is required. The token needs all scopes of every agent that a rule names, and `agents:capabilities` for one that has or has had a capability; or `agents:impersonate`.',
      idempotent: true,
      request: { body: createWorkloadIssuerBody, examples: NEW_WORKLOAD_ISSUERS },
      responses: {
        201: { description: 'The workload issuer', schema: workloadIssuerSchema, headers: ['location'] },
      },
      errors: ['conflict'],
      handler: async ({ context, body }) => {
        const input = { ...readFields(body), rules: readRules(body.rules) };
        const made = await workloadIssuers.create(context, input);
        return created(presentWorkloadIssuer(made), locate(context, `${ROOT}/${made.id}`));
      },
    },
    {
      method: 'GET',
      path: `${ROOT}/:id`,
      operationId: 'getWorkloadIssuer',
      summary: 'Read one workload issuer',
      request: { params: trustedIssuerParams },
      responses: { 200: { description: 'The workload issuer', schema: workloadIssuerSchema } },
      handler: async ({ context, params }) =>
        ok(presentWorkloadIssuer(await workloadIssuers.get(context, params.id))),
    },
    {
      method: 'PATCH',
      path: `${ROOT}/:id`,
      operationId: 'updateWorkloadIssuer',
      summary: 'Change its keys, audiences or rules; what it takes away ends tokens',
      request: { params: trustedIssuerParams, body: updateWorkloadIssuerBody },
      exists: (context, { id }) => workloadIssuers.exists(context, id),
      responses: { 200: { description: 'The workload issuer, changed', schema: workloadIssuerSchema } },
      handler: async ({ context, params, body }) => {
        const { rules, ...rest } = body;
        const patch = { ...readFields(rest), ...(rules === undefined ? {} : { rules: readRules(rules) }) };
        return ok(presentWorkloadIssuer(await workloadIssuers.update(context, params.id, patch)));
      },
    },
    {
      method: 'DELETE',
      path: `${ROOT}/:id`,
      operationId: 'deleteWorkloadIssuer',
      summary: 'Trust an issuer no longer; the tokens of its assertions end',
      request: { params: trustedIssuerParams },
      responses: { 204: { description: 'The issuer is trusted no longer' } },
      handler: ({ context, params }) => noContent(workloadIssuers.remove(context, params.id)),
    },
  ]);
}
