// Routes of the issuer's public documents: JWKS and metadata. They need no token.
import { createHash } from 'node:crypto';
import type { RequestContext, Tenant } from '../../platform/context.ts';
import { defineRoutes, type HandlerResult, type Route } from '../../platform/http/route.ts';
import type { DeliveryKeyService } from './delivery-key.service.ts';
import { issuerMetadataSchema, jwkSetSchema } from './issuer.schemas.ts';
import type { IssuerService } from './issuer.service.ts';
import { describeIssuer } from './issuer-metadata.ts';

const JWK_SET = 'application/jwk-set+json';

/** Verifiers may cache these documents for 300 s. A new key is published for longer than that before it signs. */
const CACHE_CONTROL = 'public, max-age=300';

const HEADERS = ['cache-control', 'etag'] as const;
const NOT_MODIFIED = { description: 'Not modified since the ETag in If-None-Match', headers: HEADERS };

const COMMON = {
  tag: 'Issuer',
  about: 'What resource servers need in order to validate access tokens.',
  scope: null,
} as const;

/** Routes of the issuer. The HTTP shell also serves the metadata at the addresses of RFC 8414 §3.1. */
export function createIssuerRoutes({
  issuer,
  eventIssuer,
}: {
  issuer: Pick<IssuerService, 'jwks'>;
  /** The issuer whose keys sign security event tokens. */
  eventIssuer: Pick<IssuerService, 'jwks'>;
}): Route[] {
  const readJwks = async (tenant: Tenant) => {
    const [tokens, events] = await Promise.all([issuer.jwks(tenant), eventIssuer.jwks(tenant)]);
    return { keys: [...tokens.keys, ...events.keys] };
  };

  const metadata = {
    method: 'GET',
    whileSuspended: true,
    responses: {
      200: { description: 'The metadata', schema: issuerMetadataSchema, headers: HEADERS },
      304: NOT_MODIFIED,
    },
    handler: ({ context }: { context: RequestContext }) =>
      answerDocument(describeIssuer(context.tenant.issuerUrl), 'application/json'),
  } as const;

  return defineRoutes(COMMON, [
    {
      method: 'GET',
      path: '/.well-known/jwks.json',
      operationId: 'getJwks',
      summary: 'Public keys that verify access tokens and security event tokens of this issuer',
      whileSuspended: true,
      responses: {
        200: {
          description: 'The JWK set',
          schema: jwkSetSchema,
          contentType: JWK_SET,
          headers: HEADERS,
        },
        304: NOT_MODIFIED,
      },
      handler: async ({ context }) => answerDocument(await readJwks(context.tenant), JWK_SET),
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
  ]);
}

/** The public keys with which receivers verify deliveries. They are no keys of tokens, and in a set of their own. */
export function createDeliveryKeyRoutes({
  deliveryKeys,
}: {
  deliveryKeys: Pick<DeliveryKeyService, 'jwks'>;
}): Route[] {
  return defineRoutes(COMMON, [
    {
      method: 'GET',
      path: '/.well-known/webhook-jwks.json',
      operationId: 'getWebhookJwks',
      summary: 'Public keys that verify v1a signatures of deliveries (Standard Webhooks 1.0)',
      whileSuspended: true,
      responses: {
        200: {
          description: 'The JWK set',
          schema: jwkSetSchema,
          contentType: JWK_SET,
          headers: HEADERS,
        },
        304: NOT_MODIFIED,
      },
      handler: async ({ context }) => answerDocument(await deliveryKeys.jwks(context.tenant), JWK_SET),
    },
  ]);
}

/** Builds an answer that can be cached. The HTTP shell answers 304 when the client has the same version. */
function answerDocument(document: object, contentType: string): HandlerResult {
  const digest = createHash('sha256').update(JSON.stringify(document)).digest('base64url');
  return {
    status: 200,
    body: document,
    headers: { 'content-type': contentType, 'cache-control': CACHE_CONTROL, etag: `"${digest}"` },
  };
}
