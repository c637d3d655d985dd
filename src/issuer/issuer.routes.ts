// The issuer's public documents: JWKS and metadata. They take no token and must never depend on who asks.
import { createHash } from 'node:crypto';
import { defineRoute, type HandlerResult, type Route } from '../http/route.ts';
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
      handler: ({ context, header }) =>
        answerDocument(describeIssuer(context.tenant.issuerUrl), 'application/json', header('if-none-match')),
    });

  return [
    defineRoute({
      method: 'GET',
      path: '/.well-known/jwks.json',
      operationId: 'getJwks',
      summary: 'Public keys that verify access tokens of this issuer',
      tag: 'Issuer',
      scope: null,
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
      handler: async ({ context, header }) =>
        answerDocument(await issuer.jwks(context.tenant), JWK_SET, header('if-none-match')),
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

function answerDocument(
  document: object,
  contentType: string,
  ifNoneMatch: string | undefined,
): HandlerResult {
  const digest = createHash('sha256').update(JSON.stringify(document)).digest('base64url');
  const etag = `"${digest.slice(0, 22)}"`;
  const headers = { etag, 'cache-control': CACHE_CONTROL };
  if (matchesEtag(ifNoneMatch, etag)) return { status: 304, headers };
  return { status: 200, body: document, headers: { ...headers, 'content-type': contentType } };
}

/** Whether an `If-None-Match` names the ETag; weak ones compare as equal (RFC 9110 §13.1.2). */
function matchesEtag(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  const candidates = ifNoneMatch.split(',').map((candidate) => candidate.trim().replace(/^W\//, ''));
  return candidates.includes('*') || candidates.includes(etag);
}
