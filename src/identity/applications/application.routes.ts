// The routes of applications.

import { created, locate, noContent, ok, page } from '../../platform/http/answers.ts';
import { readFields } from '../../platform/http/field-names.ts';
import { noFields } from '../../platform/http/field-schemas.ts';
import { defineRoutes, type Route } from '../../platform/http/route.ts';
import { NEW_APPLICATIONS } from './application.examples.ts';
import {
  applicationListQuery,
  applicationListSchema,
  applicationParams,
  applicationSchema,
  createApplicationBody,
  createdApplicationSchema,
  createdSecretSchema,
  presentApplication,
  presentCreatedApplication,
  presentCreatedSecret,
  secretParams,
  updateApplicationBody,
} from './application.schemas.ts';
import type { ApplicationService } from './application.service.ts';
import { readApplicationJwks } from './application-jwks.ts';

const COMMON = {
  tag: 'Applications',
  about: 'Confidential clients of the token endpoint, with up to two live secrets or with keys.',
  read: 'applications:read',
  write: 'applications:write',
} as const;
const ROOT = '/api/v1/applications';

/** Management of applications and their secrets. */
export function createApplicationRoutes({ applications }: { applications: ApplicationService }): Route[] {
  return defineRoutes(COMMON, [
    {
      method: 'GET',
      path: ROOT,
      operationId: 'listApplications',
      summary: 'List applications, the newest first',
      request: { query: applicationListQuery },
      responses: { 200: { description: 'A page of applications', schema: applicationListSchema } },
      handler: async ({ context, query }) =>
        page(await applications.page(context, readFields(query)), (application) =>
          presentApplication(application, context.tenant.baseUrl),
        ),
    },
    {
      method: 'POST',
      path: ROOT,
      operationId: 'createApplication',
      summary: 'Create an application; its secret is shown once',
      description:
        "A confidential client of the token endpoint. One that is linked to an agent acts for it: its tokens name the agent, and hold nothing beyond the agent's scopes.",
      idempotent: true,
      secretFields: ['client_secret'],
      request: { body: createApplicationBody, examples: NEW_APPLICATIONS },
      responses: {
        201: { description: 'The application', schema: createdApplicationSchema, headers: ['location'] },
      },
      handler: async ({ context, body }) => {
        const made = await applications.create(context, {
          ...readFields(body),
          jwks: body.jwks === undefined ? undefined : readApplicationJwks(body.jwks, context.tenant),
        });
        return created(
          presentCreatedApplication(made, context.tenant.baseUrl),
          locate(context, `${ROOT}/${made.application.id}`),
        );
      },
    },
    {
      method: 'GET',
      path: `${ROOT}/:client_id`,
      operationId: 'getApplication',
      summary: 'Read one application',
      request: { params: applicationParams },
      responses: { 200: { description: 'The application', schema: applicationSchema } },
      handler: async ({ context, params }) =>
        ok(presentApplication(await applications.get(context, params.client_id), context.tenant.baseUrl)),
    },
    {
      method: 'PATCH',
      path: `${ROOT}/:client_id`,
      operationId: 'updateApplication',
      summary: 'Change name, audience, scopes, grants, keys or the linked agent',
      request: { params: applicationParams, body: updateApplicationBody },
      exists: (context, params) => applications.exists(context, params.client_id),
      responses: { 200: { description: 'The application, changed', schema: applicationSchema } },
      handler: async ({ context, params, body }) => {
        const { jwks, ...rest } = body;
        const updated = await applications.update(context, params.client_id, {
          ...readFields(rest),
          ...(jwks === undefined ? {} : { jwks: jwks && readApplicationJwks(jwks, context.tenant) }),
        });
        return ok(presentApplication(updated, context.tenant.baseUrl));
      },
    },
    {
      method: 'DELETE',
      path: `${ROOT}/:client_id`,
      operationId: 'deleteApplication',
      summary: 'Delete an application',
      request: { params: applicationParams },
      responses: { 204: { description: 'Deleted' } },
      handler: ({ context, params }) => noContent(applications.remove(context, params.client_id)),
    },
    {
      method: 'POST',
      path: `${ROOT}/:client_id/secrets`,
      operationId: 'addApplicationSecret',
      summary: 'Add a second secret; its text is shown once',
      idempotent: true,
      secretFields: ['client_secret'],
      request: { params: applicationParams, body: noFields },
      exists: (context, params) => applications.exists(context, params.client_id),
      responses: { 201: { description: 'The secret', schema: createdSecretSchema } },
      errors: ['conflict'],
      handler: async ({ context, params }) =>
        created(presentCreatedSecret(await applications.addSecret(context, params.client_id))),
    },
    {
      method: 'DELETE',
      path: `${ROOT}/:client_id/secrets/:secret_id`,
      operationId: 'removeApplicationSecret',
      summary: 'End a secret now',
      request: { params: secretParams },
      responses: { 204: { description: 'Ended' } },
      handler: ({ context, params }) =>
        noContent(applications.removeSecret(context, params.client_id, params.secret_id)),
    },
  ]);
}
