// Schemas of introspection and revocation. Unknown parameters are ignored (RFC 6749 §3.2).
import { z } from 'zod';
import { delegationClaims } from './access-token.ts';
import { clientAssertion } from './token.schemas.ts';

/** Form parameters of both routes (RFC 7662 §2.1, RFC 7009 §2.1). */
export const tokenParametersSchema = z.object({
  token: z.string().optional().describe('An access or refresh token; required'),
  token_type_hint: z.string().optional().describe('access_token or refresh_token; not needed'),
  client_id: z.string().optional(),
  client_secret: z.string().optional().describe('Beside client_id, instead of HTTP Basic'),
  ...clientAssertion,
});

/** RFC 7662 §2.2. The other members are present only when `active` is true. */
export const introspectionSchema = z
  .object({
    active: z.boolean(),
    token_type: z.enum(['Bearer', 'DPoP']).optional().describe('Of access tokens'),
    iss: z.string().optional(),
    sub: z.string().optional(),
    aud: z.string().optional(),
    exp: z.int().optional().describe('Unix seconds; of a refresh token the end of its family'),
    iat: z.int().optional().describe('Unix seconds'),
    jti: z.string().optional(),
    scope: z.string().optional(),
    client_id: z.string().optional(),
    subject_type: z.string().optional(),
    agent: z.object({ name: z.string(), capabilities: z.array(z.string()) }).optional(),
    tenant_id: z.string().optional(),
    cnf: z.object({ jkt: z.string() }).optional(),
    ...delegationClaims,
  })
  .meta({ id: 'Introspection' });
