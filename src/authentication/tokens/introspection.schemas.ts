// Schema of the answer of introspection.
import { z } from 'zod';
import { delegationClaims } from './access-token.ts';

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
