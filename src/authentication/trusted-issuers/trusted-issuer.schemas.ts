// Schemas of trusted issuers in requests and answers. Only the public members of a key are stored.
import { z } from 'zod';
import { describeJwk } from '../../platform/crypto/jwk-schema.ts';
import { MAX_URL_LENGTH } from '../../platform/egress/url-rules.ts';
import { pageSchema } from '../../platform/http/answers.ts';
import { audience, pageParameters } from '../../platform/http/field-schemas.ts';
import { present } from '../../platform/http/present.ts';
import { LONGEST } from '../users/subject.ts';
import { judgeJwk, MOST_KEYS, type TrustedJwk } from './jwk-set.ts';
import type { TrustedIssuer } from './trusted-issuer.service.ts';

const issuer = z.string().min(1).max(LONGEST.issuer).meta({
  format: 'uri',
  pattern: '^https://[^?#]+$',
  description: 'The `iss` of its tokens, exactly: an https URL without query and fragment.',
});
export const jwksUri = z.string().min(1).max(MAX_URL_LENGTH).meta({
  format: 'uri',
  pattern: '^https?://[^#]+$',
  description: 'Where its JWK set is fetched, over HTTPS. Instead of jwks.',
});
const audiences = z
  .array(audience)
  .min(1)
  .max(20)
  .refine((values) => new Set(values).size === values.length, 'must not name an audience twice')
  .meta({ uniqueItems: true, description: 'Tokens are accepted that are for one of these.' });

const jwk = z
  .record(z.string(), z.json())
  .transform((value, context): TrustedJwk => {
    const verdict = judgeJwk(value);
    if (verdict.ok) return verdict.key;
    context.addIssue({ code: 'custom', message: verdict.message });
    return z.NEVER;
  })
  .meta(describeJwk('IssuerJwk', ['P-256', 'P-384', 'P-521', 'Ed25519', 'RSA'], ['sig', 'jwt-svid']));
export const trustedKeys = z.array(jwk).min(1).max(MOST_KEYS.inline);
const jwks = z
  .strictObject({ keys: trustedKeys })
  .refine(hasOwnKids, 'must not use a kid twice')
  .meta({ description: 'Its public keys (RFC 7517). Instead of jwks_uri.' });

const jwkAnswer = z.object({
  kty: z.string(),
  crv: z.string().optional(),
  x: z.string().optional(),
  y: z.string().optional(),
  n: z.string().optional(),
  e: z.string().optional(),
  kid: z.string().optional(),
  alg: z.string().optional(),
  use: z.string().optional(),
});

/** What answers say of any issuer. */
export const issuerAnswer = {
  id: z.uuid(),
  issuer: z.string(),
  jwks_uri: z.string().nullable(),
  jwks: z.strictObject({ keys: z.array(jwkAnswer) }).nullable(),
  audiences: z.array(z.string()),
  last_fetch: z
    .strictObject({
      at: z.iso.datetime(),
      error: z.string().nullable().describe('Why it failed, such as `no answer (dns:ENOTFOUND)`'),
    })
    .nullable()
    .describe('The latest fetch from jwks_uri; null before the first one, and for keys in jwks'),
};

export const trustedIssuerSchema = z
  .strictObject({
    ...issuerAnswer,
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
  })
  .meta({ id: 'TrustedIssuer' });

export const trustedIssuerListSchema = pageSchema(trustedIssuerSchema, 'TrustedIssuerList');

export const trustedIssuerParams = z.object({ id: z.uuid() });

export const trustedIssuerListQuery = z.object({
  ...pageParameters,
  issuer: z
    .string()
    .min(1)
    .max(LONGEST.issuer)
    .optional()
    .meta({ description: 'The whole issuer, exactly.' }),
});

export const createTrustedIssuerBody = z
  .strictObject({
    issuer,
    jwks_uri: jwksUri.nullable().optional(),
    jwks: jwks.nullable().optional(),
    audiences,
  })
  .meta({ id: 'NewTrustedIssuer' });

/** Only the given fields are changed. A new source of keys replaces the other source. */
export const updateTrustedIssuerBody = createTrustedIssuerBody.partial().meta({ id: 'TrustedIssuerPatch' });

/** Converts a trusted issuer to its JSON answer. */
export function presentTrustedIssuer(trusted: TrustedIssuer) {
  return present(trustedIssuerSchema, trusted, { last_fetch: lastFetchOf(trusted) });
}

/** Returns the latest fetch of an issuer's keys, as answers show it. */
export function lastFetchOf({ fetchedAt, fetchError }: Pick<TrustedIssuer, 'fetchedAt' | 'fetchError'>) {
  return fetchedAt === null ? null : { at: fetchedAt.toISOString(), error: fetchError };
}

/** Returns whether no two keys have the same `kid`. */
export function hasOwnKids({ keys }: { readonly keys: readonly TrustedJwk[] }): boolean {
  const names = keys.flatMap(({ kid }) => kid ?? []);
  return new Set(names).size === names.length;
}
