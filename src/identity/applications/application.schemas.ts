// Schemas of applications in requests and answers. Only the answer to the creation of a secret contains its text.
import { z } from 'zod';
import { describeJwk } from '../../platform/crypto/jwk-schema.ts';
import { pageSchema } from '../../platform/http/answers.ts';
import {
  audience,
  dpopBoundAccessTokens,
  idFields,
  displayName as name,
  pageParameters,
} from '../../platform/http/field-schemas.ts';
import { present } from '../../platform/http/present.ts';
import { APPLICATION_SCOPES } from '../../platform/scopes.ts';
import type { ApplicationWithSecrets, CreatedApplication, CreatedSecret } from './application.ts';
import { GRANT_TYPES } from './application.ts';
import { MOST_KEYS } from './application-jwks.ts';

const scopes = z.array(z.enum(APPLICATION_SCOPES)).min(1).max(APPLICATION_SCOPES.length);
const grantTypes = z.array(z.enum(GRANT_TYPES)).max(GRANT_TYPES.length);

const jwks = z
  .strictObject({
    keys: z
      .array(z.record(z.string(), z.unknown()).meta(describeJwk('ClientJwk', ['P-256', 'Ed25519', 'RSA'])))
      .min(1)
      .max(MOST_KEYS),
  })
  .describe(
    'Public keys on P-256 (ES256) or Ed25519 (EdDSA), or RSA of 2,048 to 4,096 bits (PS256; RS256 where `alg` says it, except under the profile `fapi2`), for private_key_jwt (RFC 7523)',
  );

const jwksSchema = z.strictObject({
  keys: z.array(
    z.strictObject({
      kty: z.enum(['EC', 'OKP', 'RSA']),
      crv: z.enum(['P-256', 'Ed25519']).optional(),
      x: z.string().optional(),
      y: z.string().optional(),
      n: z.string().optional(),
      e: z.string().optional(),
      alg: z.enum(['ES256', 'EdDSA', 'PS256', 'RS256']),
      kid: z.string().optional(),
    }),
  ),
});

const secretSchema = z.strictObject({
  id: z.uuid(),
  created_at: z.iso.datetime(),
  expires_at: z.iso.datetime().nullable(),
});

export const applicationSchema = z
  .strictObject({
    ...idFields('client_id'),
    name: z.string(),
    audience: z.string().describe("`aud` of its tokens; the tenant's base URL unless set"),
    scopes: z.array(z.string()),
    grant_types: z.array(z.string()),
    agent_id: z
      .uuid()
      .nullable()
      .describe('The agent that it acts for; its scopes are the most that it gets'),
    jwks: jwksSchema.nullable().describe('Keys with which it may authenticate by private_key_jwt'),
    dpop_bound_access_tokens: z.boolean(),
    secrets: z.array(secretSchema).describe('The live secrets, the newest first'),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
  })
  .meta({ id: 'Application' });

export const createdApplicationSchema = applicationSchema
  .extend({ client_secret: z.string().optional().describe('Shown once; absent in a replay') })
  .meta({ id: 'CreatedApplication' });

export const createdSecretSchema = secretSchema
  .extend({ client_secret: z.string().optional().describe('Shown once; absent in a replay') })
  .meta({ id: 'CreatedSecret' });

export const applicationListSchema = pageSchema(applicationSchema, 'ApplicationList');

export const applicationListQuery = z.object({
  ...pageParameters,
  name: z.string().min(1).max(200).optional().meta({ description: 'The whole name, exactly.' }),
  agent_id: z.uuid().optional().describe('Those that act for this agent.'),
});

export const createApplicationBody = z
  .strictObject({
    name,
    scopes,
    audience: audience.optional(),
    grant_types: grantTypes.optional().describe('client_credentials, unless said'),
    agent_id: z.uuid().optional(),
    jwks: jwks.optional(),
    dpop_bound_access_tokens: dpopBoundAccessTokens.optional(),
  })
  .meta({ id: 'NewApplication' });

/** `audience: null` makes the application use the tenant's base URL, `agent_id: null` unlinks its agent. */
export const updateApplicationBody = z
  .strictObject({
    name: name.optional(),
    scopes: scopes.optional(),
    audience: audience.nullable().optional(),
    grant_types: grantTypes.optional(),
    jwks: jwks.nullable().optional(),
    dpop_bound_access_tokens: dpopBoundAccessTokens.optional(),
    agent_id: z
      .uuid()
      .nullable()
      .optional()
      .describe('The agent that it acts for, whose scopes must hold its own; null for none'),
  })
  .meta({ id: 'ApplicationPatch' });

export const applicationParams = z.object({ client_id: z.uuid() });

export const secretParams = z.object({ client_id: z.uuid(), secret_id: z.uuid() });

/** Converts an application to its JSON answer. @param baseUrl of its tenant */
export function presentApplication(application: ApplicationWithSecrets, baseUrl: string) {
  return present(applicationSchema, application, {
    client_id: application.id,
    audience: application.audience ?? baseUrl,
  });
}

/** Converts a new application to the only answer that contains the text of its secret. */
export function presentCreatedApplication(created: CreatedApplication, baseUrl: string) {
  return { ...presentApplication(created.application, baseUrl), client_secret: created.clientSecret };
}

/** Converts a new secret to the only answer that contains its text. */
export function presentCreatedSecret({ secret, clientSecret }: CreatedSecret) {
  return present(createdSecretSchema, secret, { client_secret: clientSecret });
}
