// The issuer's public documents: JWKS and metadata. They take no token and must never depend on who asks.
import { createHash } from 'node:crypto';
import { defineRoute, type HandlerResult, type Route } from '../../platform/http/route.ts';
import { issuerMetadataSchema, jwkSetSchema } from './issuer.schemas.ts';
import type { IssuerService } from './issuer.service.ts';
import { describeIssuer } from './issuer-metadata.ts';

const JWK_SET = 'application/jwk-set+json';

/** Seconds for which verifiers may keep these documents; new keys are published longer than that before they sign. */
const CACHE_CONTROL = 'public, max-age=300';

/** Routes of the issuer. The HTTP shell also serves the metadata at the path-inserted addresses (RFC 8414 §3.1). */
export function createIssuerRoutes({ issuer }: { issuer: IssuerService }): Route[] {
  const metadata = (path: string, operationId: string, summary: string) =>
    defineRoute({
      method: 'GET',
      path,
      operationId,
      summary,
      tag: 'Issuer',
      scope: null,
      whileSuspended: true,
      responses: {
        200: {
          description: 'The metadata',
          schema: issuerMetadataSchema,
          headers: ['cache-control', 'etag'],
        },
        304: {
          description: 'Not modified since the ETag in If-None-Match',
          headers: ['cache-control', 'etag'],
        },
      },
      errors: [],
      handler: ({ context }) => answerDocument(describeIssuer(context.tenant.issuerUrl), 'application/json'),
    });

  return [
    defineRoute({
      method: 'GET',
      path: '/.well-known/jwks.json',
      operationId: 'getJwks',
      summary: 'Public keys that verify access tokens of this issuer',
      tag: 'Issuer',
      scope: null,
      whileSuspended: true,
      responses: {
        200: {
          description: 'The JWK set',
          schema: jwkSetSchema,
          contentType: JWK_SET,
          headers: ['cache-control', 'etag'],
        },
        304: {
          description: 'Not modified since the ETag in If-None-Match',
          headers: ['cache-control', 'etag'],
        },
      },
      errors: [],
      handler: async ({ context }) => answerDocument(await issuer.jwks(context.tenant), JWK_SET),
    }),
    metadata(
      '/.well-known/oauth-authorization-server',
      'getIssuerMetadata',
      'Authorization server metadata (RFC 8414)',
    ),
    metadata(
      '/.well-known/openid-configuration',
      'getOpenIdConfiguration',
      'The same metadata at the address that OpenID clients ask',
    ),
  ];
}

/** An answer that may be kept; the HTTP shell turns it into 304 for a client that has this version already. */
function answerDocument(document: object, contentType: string): HandlerResult {
  const digest = createHash('sha256').update(JSON.stringify(document)).digest('base64url');
  return {
    status: 200,
    body: document,
    headers: { 'content-type': contentType, 'cache-control': CACHE_CONTROL, etag: `"${digest}"` },
  };
}
