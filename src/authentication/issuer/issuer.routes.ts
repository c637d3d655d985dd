// Routes of the issuer's public documents: JWKS and metadata. They need no token.
import type { RequestContext, Tenant } from '../../platform/context.ts';
import { DOCUMENT_HEADERS, NOT_MODIFIED, publicDocument } from '../../platform/http/answers.ts';
import { defineRoutes, type Route } from '../../platform/http/route.ts';
import { EVENT_JWKS_PATH } from '../../webhooks/streams/stream.ts';
import { describeResource, RESOURCE_METADATA_PATH } from '../tokens/resource-metadata.ts';
import type { DeliveryKeyService } from './delivery-key.service.ts';
import { issuerMetadataSchema, jwkSetSchema, resourceMetadataSchema } from './issuer.schemas.ts';
import type { IssuerService } from './issuer.service.ts';
import type { IssuerJwk } from './issuer-key.ts';
import { AUTHORIZATION_PATH, authorizationRefused, describeIssuer } from './issuer-metadata.ts';

const JWK_SET = 'application/jwk-set+json';

/** Verifiers may cache these documents for 300 s. A new key is published for longer than that before it signs. */
const MAX_AGE = 300;

const COMMON = {
  tag: 'Issuer',
  about: 'What resource servers need in order to validate access tokens.',
  scope: null,
} as const;

/** A public JWK set that verifiers may cache. */
const keySetRoute = (
  route: Pick<Route, 'path' | 'operationId' | 'summary'>,
  read: (tenant: Tenant) => Promise<{ keys: readonly IssuerJwk[] }>,
) =>
  ({
    ...route,
    method: 'GET',
    whileSuspended: true,
    responses: {
      200: {
        description: 'The JWK set',
        schema: jwkSetSchema,
        contentType: JWK_SET,
        headers: DOCUMENT_HEADERS,
      },
      304: NOT_MODIFIED,
    },
    handler: async ({ context }: { context: RequestContext }) =>
      publicDocument(await read(context.tenant), { contentType: JWK_SET, maxAge: MAX_AGE }),
  }) as const;

/**
 * Routes of the issuer. The HTTP shell also serves the metadata at the addresses of RFC 8414 §3.1 and RFC 9728 §3.1.
 * Each purpose of keys has its JWK set, so that a verifier of access tokens meets no other key.
 */
export function createIssuerRoutes({
  issuer,
  eventIssuer,
}: {
  issuer: Pick<IssuerService, 'jwks'>;
  /** The issuer whose keys sign security event tokens. */
  eventIssuer: Pick<IssuerService, 'jwks'>;
}): Route[] {
  const metadata = {
    method: 'GET',
    whileSuspended: true,
    responses: {
      200: { description: 'The metadata', schema: issuerMetadataSchema, headers: DOCUMENT_HEADERS },
      304: NOT_MODIFIED,
    },
    handler: ({ context }: { context: RequestContext }) =>
      publicDocument(describeIssuer(context.tenant), {
        contentType: 'application/json',
        maxAge: MAX_AGE,
      }),
  } as const;

  return defineRoutes(COMMON, [
    keySetRoute(
      {
        path: '/.well-known/jwks.json',
        operationId: 'getJwks',
        summary: 'Public keys that verify access tokens of this issuer',
      },
      issuer.jwks,
    ),
    keySetRoute(
      {
        path: EVENT_JWKS_PATH,
        operationId: 'getEventJwks',
        summary: 'Public keys that verify security event tokens of this issuer (RFC 8417)',
      },
      eventIssuer.jwks,
    ),
    {
      method: 'GET',
      path: AUTHORIZATION_PATH,
      operationId: 'authorize',
      summary: 'The authorization endpoint: it refuses every request and says why',
      description:
        'No user is asked for anything here. The endpoint is in the metadata because clients demand it which then use another grant, such as those of the Model Context Protocol.',
      responses: {},
      errors: ['unsupported_response_type'],
      handler: () => {
        throw authorizationRefused();
      },
    },
    {
      ...metadata,
      path: '/.well-known/oauth-authorization-server',
      operationId: 'getIssuerMetadata',
      summary: 'Authorization server metadata (RFC 8414)',
    },
    {
      ...metadata,
      path: '/.well-known/openid-configuration',
      operationId: 'getOpenIdConfiguration',
      summary: 'The same metadata at the address that OpenID clients ask',
    },
    {
      method: 'GET',
      path: RESOURCE_METADATA_PATH,
      operationId: 'getResourceMetadata',
      summary: 'Metadata of the routes that take an access token (RFC 9728)',
      description:
        'All of them are one resource, the tenant. Challenges name this address in `resource_metadata`.',
      whileSuspended: true,
      responses: {
        200: { description: 'The metadata', schema: resourceMetadataSchema, headers: DOCUMENT_HEADERS },
        304: NOT_MODIFIED,
      },
      handler: ({ context }) =>
        publicDocument(describeResource(context.tenant.issuerUrl), {
          contentType: 'application/json',
          maxAge: MAX_AGE,
        }),
    },
  ]);
}

/** The public keys with which receivers verify deliveries. */
export function createDeliveryKeyRoutes({
  deliveryKeys,
}: {
  deliveryKeys: Pick<DeliveryKeyService, 'jwks'>;
}): Route[] {
  return defineRoutes(COMMON, [
    keySetRoute(
      {
        path: '/.well-known/webhook-jwks.json',
        operationId: 'getWebhookJwks',
        summary: 'Public keys that verify v1a signatures of deliveries (Standard Webhooks 1.0)',
      },
      deliveryKeys.jwks,
    ),
  ]);
}
