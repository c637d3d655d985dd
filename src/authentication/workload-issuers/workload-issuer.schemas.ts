// Schemas of workload issuers in requests and answers. Only the public members of a key are stored.
import { z } from 'zod';
import { pageSchema } from '../../platform/http/answers.ts';
import { audience } from '../../platform/http/field-schemas.ts';
import { present } from '../../platform/http/present.ts';
import {
  hasOwnKids,
  issuerAnswer,
  jwksUri,
  lastFetchOf,
  trustedKeys,
} from '../trusted-issuers/trusted-issuer.schemas.ts';
import { LONGEST } from '../users/subject.ts';
import type { WorkloadRule } from './claim-rules.ts';
import type { WorkloadIssuer } from './workload-issuer.service.ts';

/** Most rules of an issuer, claims of a rule, and characters of a claim's name and of its pattern. */
const MOST = { rules: 100, claims: 10, name: 200, pattern: 2_048 } as const;

const issuer = z.string().min(1).max(LONGEST.issuer).meta({
  pattern: '^(https://[^?#]+|spiffe://[a-z0-9._-]+)$',
  description: 'The `iss` of its assertions, exactly, or `spiffe://<trust domain>` for JWT-SVIDs.',
});

/** A SPIFFE bundle is a JWK set with members of its own; its keys for X.509-SVIDs sign no assertions. */
const jwks = z
  .object({
    keys: z.preprocess(
      (keys) => (Array.isArray(keys) ? keys.filter((key) => key?.use !== 'x509-svid') : keys),
      trustedKeys,
    ),
  })
  .refine(hasOwnKids, 'must not use a kid twice')
  .meta({
    description: 'Its public keys (RFC 7517), or a SPIFFE bundle. Instead of jwks_uri.',
  });

const audiences = z
  .array(audience)
  .min(1)
  .max(20)
  .meta({ description: 'Every `aud` of an assertion must be one of these.' });

const pattern = z
  .string()
  .min(1)
  .max(MOST.pattern)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: refusing them is the purpose
  .regex(/^[^\x00-\x1f\x7f]*$/, 'must not contain control characters');

const rule = z
  .strictObject({
    agent_id: z.uuid(),
    claims: z
      .record(z.string().min(1).max(MOST.name), pattern)
      .refine((claims) => {
        const count = Object.keys(claims).length;
        return count > 0 && count <= MOST.claims;
      }, `must have 1 to ${MOST.claims} claims`)
      .meta({
        description:
          'Claims that must all fit, by name or JSON Pointer: a text, in which `*` stands for one character or more of one segment between `/`, `:` and `@`.',
      }),
  })
  .meta({ id: 'WorkloadRule' });

const rules = z
  .array(rule)
  .max(MOST.rules)
  .meta({ description: 'The first rule whose claims all fit names the agent.' });

export const workloadIssuerSchema = z
  .strictObject({
    ...issuerAnswer,
    rules: z.array(rule),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
  })
  .meta({ id: 'WorkloadIssuer' });

export const workloadIssuerListSchema = pageSchema(workloadIssuerSchema, 'WorkloadIssuerList');

export const createWorkloadIssuerBody = z
  .strictObject({
    issuer,
    jwks_uri: jwksUri.nullable().optional(),
    jwks: jwks.nullable().optional(),
    audiences,
    rules,
  })
  .meta({ id: 'NewWorkloadIssuer' });

/** Only the given fields are changed. A new source of keys replaces the other source. */
export const updateWorkloadIssuerBody = createWorkloadIssuerBody
  .partial()
  .meta({ id: 'WorkloadIssuerPatch' });

/** Converts the rules of a request to their names in code. */
export function readRules(sent: z.output<typeof rules>): WorkloadRule[] {
  return sent.map(({ agent_id: agentId, claims }) => ({ agentId, claims }));
}

/** Converts a workload issuer to its JSON answer. */
export function presentWorkloadIssuer(trusted: WorkloadIssuer) {
  return present(workloadIssuerSchema, trusted, { last_fetch: lastFetchOf(trusted) });
}
