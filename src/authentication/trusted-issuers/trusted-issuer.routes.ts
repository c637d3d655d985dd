// The routes of trusted issuers.
import { created, locate, noContent, ok, page } from '../../platform/http/answers.ts';
import { readFields } from '../../platform/http/field-names.ts';
import { defineRoutes, type Route } from '../../platform/http/route.ts';
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

const COMMON = {
  tag: 'Trusted issuers',
  about: "Issuers whose tokens name this tenant's users.",
  read: 'delegations:read',
  write: 'delegations:write',
} as const;
const ROOT = '/api/v1/trusted-issuers';

/** Management of trusted issuers, whose users' tokens may be exchanged (RFC 8693). */
export function createTrustedIssuerRoutes({
  trustedIssuers,
}: {
  trustedIssuers: TrustedIssuerService;
}): Route[] {
  return defineRoutes(COMMON, [
    {
      method: 'GET',
      path: ROOT,
      operationId: 'listTrustedIssuers',
      summary: 'List trusted issuers, the newest first',
      request: { query: trustedIssuerListQuery },
      responses: { 200: { description: 'A page of trusted issuers', schema: trustedIssuerListSchema } },
      handler: async ({ context, query }) =>
        page(await trustedIssuers.list(context, query), presentTrustedIssuer),
    },
    {
      method: 'POST',
      path: ROOT,
      operationId: 'createTrustedIssuer',
      summary: "Trust an issuer to name this tenant's users",
      description:
        'Tokens of that issuer may then be exchanged, for users who have delegated to an agent. Its keys come from `jwks_uri` or are in `jwks`: one of the two is required.',
      idempotent: true,
      request: { body: createTrustedIssuerBody, examples: NEW_TRUSTED_ISSUERS },
      responses: {
        201: { description: 'The trusted issuer', schema: trustedIssuerSchema, headers: ['location'] },
      },
      errors: ['conflict'],
      handler: async ({ context, body }) => {
        const trusted = await trustedIssuers.create(context, readFields(body));
        return created(presentTrustedIssuer(trusted), locate(context, `${ROOT}/${trusted.id}`));
      },
    },
    {
      method: 'GET',
      path: `${ROOT}/:id`,
      operationId: 'getTrustedIssuer',
      summary: 'Read one trusted issuer',
      request: { params: trustedIssuerParams },
      responses: { 200: { description: 'The trusted issuer', schema: trustedIssuerSchema } },
      handler: async ({ context, params }) =>
        ok(presentTrustedIssuer(await trustedIssuers.get(context, params.id))),
    },
    {
      method: 'PATCH',
      path: `${ROOT}/:id`,
      operationId: 'updateTrustedIssuer',
      summary: 'Change where its keys come from, or its audiences',
      request: { params: trustedIssuerParams, body: updateTrustedIssuerBody },
      exists: (context, { id }) => trustedIssuers.exists(context, id),
      responses: { 200: { description: 'The trusted issuer, changed', schema: trustedIssuerSchema } },
      handler: async ({ context, params, body }) =>
        ok(presentTrustedIssuer(await trustedIssuers.update(context, params.id, readFields(body)))),
    },
    {
      method: 'DELETE',
      path: `${ROOT}/:id`,
      operationId: 'deleteTrustedIssuer',
      summary: 'Trust an issuer no longer',
      request: { params: trustedIssuerParams },
      responses: { 204: { description: 'The issuer is trusted no longer' } },
      handler: ({ context, params }) => noContent(trustedIssuers.remove(context, params.id)),
    },
  ]);
}
