// The routes of applications. They must never decide anything: shapes in, one service call, shapes out.
import { defineRoute, type Route } from '../../platform/http/route.ts';
import { NEW_APPLICATIONS } from './application.examples.ts';
import {
  applicationListQuery,
  applicationListSchema,
  applicationParams,
  applicationSchema,
  createApplicationBody,
  createdApplicationSchema,
  createdSecretSchema,
  createSecretBody,
  presentApplication,
  presentCreatedApplication,
  presentCreatedSecret,
  secretParams,
  updateApplicationBody,
} from './application.schemas.ts';
import type { ApplicationService } from './application.service.ts';
import { readApplicationJwks } from './application-jwks.ts';

const TAG = 'Applications';
const ROOT = '/api/v1/applications';

/** Management of confidential clients and their secrets. */
export function createApplicationRoutes({ applications }: { applications: ApplicationService }): Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: ROOT,
      operationId: 'listApplications',
      summary: 'List applications, the newest first',
      tag: TAG,
      scope: 'applications:read',
      request: { query: applicationListQuery },
      responses: { 200: { description: 'A page of applications', schema: applicationListSchema } },
      errors: [],
      handler: async ({ context, query }) => {
        const { data, nextCursor } = await applications.page(context, {
          limit: query.limit,
          cursor: query.cursor,
          name: query.name,
          agentId: query.agent_id,
        });
        return {
          status: 200,
          body: {
            data: data.map((application) => presentApplication(application, context.tenant.baseUrl)),
            next_cursor: nextCursor,
          },
        };
      },
    }),
    defineRoute({
      method: 'POST',
      path: ROOT,
      operationId: 'createApplication',
      summary: 'Create an application; its secret is shown once',
      description:
        "A confidential client of the token endpoint. One that is linked to an agent acts for it: its tokens name the agent, and hold nothing beyond the agent's scopes.",
      tag: TAG,
      scope: 'applications:write',
      idempotent: true,
      secretFields: ['client_secret'],
      request: { body: createApplicationBody, examples: NEW_APPLICATIONS },
      responses: {
        201: { description: 'The application', schema: createdApplicationSchema, headers: ['location'] },
      },
      errors: [],
      handler: async ({ context, body }) => {
        const created = await applications.create(context, {
          name: body.name,
          scopes: body.scopes,
          audience: body.audience,
          grantTypes: body.grant_types,
          agentId: body.agent_id,
          jwks: body.jwks === undefined ? undefined : readApplicationJwks(body.jwks),
        });
        const { baseUrl } = context.tenant;
        return {
          status: 201,
          headers: { location: `${baseUrl}${ROOT}/${created.application.id}` },
          body: presentCreatedApplication(created, baseUrl),
        };
      },
    }),
    defineRoute({
      method: 'GET',
      path: `${ROOT}/:client_id`,
      operationId: 'getApplication',
      summary: 'Read one application',
      tag: TAG,
      scope: 'applications:read',
      request: { params: applicationParams },
      responses: { 200: { description: 'The application', schema: applicationSchema } },
      errors: ['not_found'],
      handler: async ({ context, params }) => ({
        status: 200,
        body: presentApplication(await applications.get(context, params.client_id), context.tenant.baseUrl),
      }),
    }),
    defineRoute({
      method: 'PATCH',
      path: `${ROOT}/:client_id`,
      operationId: 'updateApplication',
      summary: 'Change name, audience, scopes, grants, keys or the linked agent',
      tag: TAG,
      scope: 'applications:write',
      request: { params: applicationParams, body: updateApplicationBody },
      exists: (context, params) => applications.exists(context, params.client_id),
      responses: { 200: { description: 'The application, changed', schema: applicationSchema } },
      errors: ['not_found'],
      handler: async ({ context, params, body }) => {
        const updated = await applications.update(context, params.client_id, {
          ...(body.name === undefined ? {} : { name: body.name }),
          ...(body.audience === undefined ? {} : { audience: body.audience }),
          ...(body.scopes === undefined ? {} : { scopes: body.scopes }),
          ...(body.grant_types === undefined ? {} : { grantTypes: body.grant_types }),
          ...(body.jwks === undefined
            ? {}
            : { jwks: body.jwks === null ? null : readApplicationJwks(body.jwks) }),
          ...(body.agent_id === undefined ? {} : { agentId: body.agent_id }),
        });
        return { status: 200, body: presentApplication(updated, context.tenant.baseUrl) };
      },
    }),
    defineRoute({
      method: 'DELETE',
      path: `${ROOT}/:client_id`,
      operationId: 'deleteApplication',
      summary: 'Delete an application',
      tag: TAG,
      scope: 'applications:write',
      request: { params: applicationParams },
      responses: { 204: { description: 'Deleted' } },
      errors: ['not_found'],
      handler: async ({ context, params }) => {
        await applications.remove(context, params.client_id);
        return { status: 204 };
      },
    }),
    defineRoute({
      method: 'POST',
      path: `${ROOT}/:client_id/secrets`,
      operationId: 'addApplicationSecret',
      summary: 'Add a second secret; its text is shown once',
      tag: TAG,
      scope: 'applications:write',
      idempotent: true,
      secretFields: ['client_secret'],
      request: { params: applicationParams, body: createSecretBody },
      exists: (context, params) => applications.exists(context, params.client_id),
      responses: { 201: { description: 'The secret', schema: createdSecretSchema } },
      errors: ['not_found', 'conflict'],
      handler: async ({ context, params }) => ({
        status: 201,
        body: presentCreatedSecret(await applications.addSecret(context, params.client_id)),
      }),
    }),
    defineRoute({
      method: 'DELETE',
      path: `${ROOT}/:client_id/secrets/:secret_id`,
      operationId: 'removeApplicationSecret',
      summary: 'End a secret at once',
      tag: TAG,
      scope: 'applications:write',
      request: { params: secretParams },
      responses: { 204: { description: 'Ended' } },
      errors: ['not_found'],
      handler: async ({ context, params }) => {
        await applications.removeSecret(context, params.client_id, params.secret_id);
        return { status: 204 };
      },
    }),
  ];
}
