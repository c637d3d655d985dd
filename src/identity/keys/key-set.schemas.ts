// Schema of an agent's public key set.
import { z } from 'zod';

/** The schema is strict, so that a private member causes an error. */
export const agentJwkSetSchema = z
  .strictObject({
    keys: z.array(
      z.strictObject({
        kty: z.enum(['EC', 'OKP']),
        crv: z.enum(['Ed25519', 'P-256', 'secp256k1']),
        x: z.string(),
        y: z.string().optional(),
        kid: z.string().describe('RFC 7638 thumbprint of the key'),
        use: z.literal('sig'),
        alg: z.enum(['EdDSA', 'ES256', 'ES256K']),
      }),
    ),
  })
  .meta({ id: 'AgentJwkSet' });
