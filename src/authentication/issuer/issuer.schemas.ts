// Schemas of the issuer's public documents.
import { z } from 'zod';

const named = { kid: z.string().describe('RFC 7638 thumbprint of the key'), use: z.literal('sig') };

/** A JWK set of public keys (RFC 7517 §5). The schema is strict, so that a private member causes an error. */
export const jwkSetSchema = z
  .strictObject({
    keys: z.array(
      z.union([
        z.strictObject({
          kty: z.enum(['EC', 'OKP']),
          crv: z.enum(['P-256', 'Ed25519']),
          x: z.string(),
          y: z.string().optional(),
          ...named,
          alg: z.enum(['ES256', 'EdDSA']),
        }),
        z
          .strictObject({
            kty: z.literal('RSA'),
            n: z.string(),
            e: z.string(),
            ...named,
            alg: z.literal('RS256'),
          })
          .describe('A key of security event tokens; it verifies no access token'),
      ]),
    ),
  })
  .meta({ id: 'JwkSet' });

/** Authorization server metadata (RFC 8414 §2). */
export const issuerMetadataSchema = z
  .strictObject({
    issuer: z.url(),
    authorization_endpoint: z.url().optional().describe('It refuses every request; absent under fapi2'),
    token_endpoint: z.url(),
    jwks_uri: z.url(),
    scopes_supported: z.array(z.string()),
    subject_types_supported: z.array(z.string()),
    id_token_signing_alg_values_supported: z.array(z.string()),
    response_types_supported: z.array(z.string()),
    grant_types_supported: z.array(z.string()),
    token_endpoint_auth_methods_supported: z.array(z.string()),
    token_endpoint_auth_signing_alg_values_supported: z.array(z.string()),
    introspection_endpoint: z.url(),
    introspection_endpoint_auth_methods_supported: z.array(z.string()),
    introspection_endpoint_auth_signing_alg_values_supported: z.array(z.string()),
    revocation_endpoint: z.url(),
    revocation_endpoint_auth_methods_supported: z.array(z.string()),
    revocation_endpoint_auth_signing_alg_values_supported: z.array(z.string()),
    userinfo_endpoint: z.url(),
    dpop_signing_alg_values_supported: z.array(z.string()),
  })
  .meta({ id: 'IssuerMetadata' });

export type IssuerMetadata = z.infer<typeof issuerMetadataSchema>;

/** Protected resource metadata (RFC 9728 §2). */
export const resourceMetadataSchema = z
  .strictObject({
    resource: z.url(),
    authorization_servers: z.array(z.url()),
    scopes_supported: z.array(z.string()),
    bearer_methods_supported: z.array(z.string()),
    dpop_signing_alg_values_supported: z.array(z.string()),
  })
  .meta({ id: 'ResourceMetadata' });

export type ResourceMetadata = z.infer<typeof resourceMetadataSchema>;
