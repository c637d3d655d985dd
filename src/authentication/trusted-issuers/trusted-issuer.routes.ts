// The routes of trusted issuers. They must never decide anything: shapes in, one service call, shapes out.
import { defineRoute, type Route } from '../../platform/http/route.ts';
import { NEW_TRUSTED_ISSUERS } from './trusted-issuer.examples.ts';
import {
  createTrustedIssuerBody,
  presentTrustedIssuer,
  trustedIssuerListQuery,
  trustedIssuerListSchema,
  trustedIssuerParams,
  trustedIssuerSchema,
  updateTrustedIssuerBody,
} from './trusted-issuer.schemas.ts';
import type { TrustedIssuerService } from './trusted-issuer.service.ts';

const TAG = 'Trusted issuers';
const ROOT = '/api/v1/trusted-issuers';

/** Management of the issuers whose users' tokens may be exchanged (RFC 8693). */
export function createTrustedIssuerRoutes({
  trustedIssuers,
}: {
  trustedIssuers: TrustedIssuerService;
}): Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: ROOT,
      operationId: 'listTrustedIssuers',
      summary: 'List trusted issuers, the newest first',
      tag: TAG,
      scope: 'delegations:read',
      request: { query: trustedIssuerListQuery },
      responses: { 200: { description: 'A page of trusted issuers', schema: trustedIssuerListSchema } },
      errors: [],
      handler: async ({ context, query }) => {
        const { data, nextCursor } = await trustedIssuers.list(context, query);
        return { status: 200, body: { data: data.map(presentTrustedIssuer), next_cursor: nextCursor } };
      },
    }),
    defineRoute({
      method: 'POST',
      path: ROOT,
      operationId: 'createTrustedIssuer',
      summary: "Trust an issuer to name this tenant's users",
      description:
        'Tokens of that issuer may then be exchanged, for users who have delegated to an agent. Its keys come from `jwks_uri` or are in `jwks`: one of the two is required.',
      tag: TAG,
      scope: 'delegations:write',
      idempotent: true,
      request: { body: createTrustedIssuerBody, examples: NEW_TRUSTED_ISSUERS },
      responses: {
        201: { description: 'The trusted issuer', schema: trustedIssuerSchema, headers: ['location'] },
      },
      errors: ['conflict'],
      handler: async ({ context, body }) => {
        const trusted = await trustedIssuers.create(context, {
          issuer: body.issuer,
          jwksUri: body.jwks_uri,
          jwks: body.jwks,
          audiences: body.audiences,
        });
        return {
          status: 201,
          headers: { location: `${context.tenant.baseUrl}${ROOT}/${trusted.id}` },
          body: presentTrustedIssuer(trusted),
        };
      },
    }),
    defineRoute({
      method: 'GET',
      path: `${ROOT}/:id`,
      operationId: 'getTrustedIssuer',
      summary: 'Read one trusted issuer',
      tag: TAG,
      scope: 'delegations:read',
      request: { params: trustedIssuerParams },
      responses: { 200: { description: 'The trusted issuer', schema: trustedIssuerSchema } },
      errors: ['not_found'],
      handler: async ({ context, params }) => ({
        status: 200,
        body: presentTrustedIssuer(await trustedIssuers.get(context, params.id)),
      }),
    }),
    defineRoute({
      method: 'PATCH',
      path: `${ROOT}/:id`,
      operationId: 'updateTrustedIssuer',
      summary: 'Change where its keys come from, or its audiences',
      tag: TAG,
      scope: 'delegations:write',
      request: { params: trustedIssuerParams, body: updateTrustedIssuerBody },
      exists: (context, { id }) => trustedIssuers.exists(context, id),
      responses: { 200: { description: 'The trusted issuer, changed', schema: trustedIssuerSchema } },
      errors: ['not_found'],
      handler: async ({ context, params, body }) => ({
        status: 200,
        body: presentTrustedIssuer(
          await trustedIssuers.update(context, params.id, {
            issuer: body.issuer,
            jwksUri: body.jwks_uri,
            jwks: body.jwks,
            audiences: body.audiences,
          }),
        ),
      }),
    }),
    defineRoute({
      method: 'DELETE',
      path: `${ROOT}/:id`,
      operationId: 'deleteTrustedIssuer',
      summary: 'Trust an issuer no longer',
      tag: TAG,
      scope: 'delegations:write',
      request: { params: trustedIssuerParams },
      responses: { 204: { description: 'The issuer is trusted no longer' } },
      errors: ['not_found'],
      handler: async ({ context, params }) => {
        await trustedIssuers.remove(context, params.id);
        return { status: 204 };
      },
    }),
  ];
}
