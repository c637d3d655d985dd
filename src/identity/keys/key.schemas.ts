// Schemas of keys in requests and answers. Error messages never repeat a refused key, because it could be a private
// key.
import { z } from 'zod';
import { KEY_ALGORITHMS } from '../../platform/crypto/algorithm.ts';
import { describeJwk } from '../../platform/crypto/jwk-schema.ts';
import { toJwk } from '../../platform/crypto/public-key.ts';
import { pageSchema } from '../../platform/http/answers.ts';
import { idFields, pageParameters } from '../../platform/http/field-schemas.ts';
import { present } from '../../platform/http/present.ts';
import { type AgentKey, KEY_STATES } from './key.ts';

/** What an algorithm is called elsewhere: JOSE and OpenSSH, in lower case. */
const OTHER_NAMES: Readonly<Record<string, (typeof KEY_ALGORITHMS)[number]>> = {
  eddsa: 'ed25519',
  'ssh-ed25519': 'ed25519',
  secp256k1: 'es256k',
  'p-256': 'es256',
  schnorr: 'bip340',
};

const algorithm = z.enum(KEY_ALGORITHMS, {
  error: ({ input }) => {
    if (typeof input !== 'string') return undefined;
    const asked = input.toLowerCase();
    const meant = KEY_ALGORITHMS.find((name) => name === asked) ?? OTHER_NAMES[asked];
    return `must be one of: ${KEY_ALGORITHMS.join(', ')}${meant === undefined ? '' : `; did you mean ${meant}?`}`;
  },
});
const timestamp = z.iso.datetime();

const jwk = z
  .object({ kty: z.enum(['EC', 'OKP']), crv: z.string(), x: z.string(), y: z.string().optional() })
  .meta({ description: 'JWK; a bip340 key as the secp256k1 point with an even y.' });

/** Source: Specification, "Agent key". */
export const keySchema = z
  .object({
    ...idFields('key_id'),
    agent_id: z.uuid(),
    algorithm,
    fingerprint: z.string().regex(/^[0-9a-f]{64}$/),
    jwk_thumbprint: z.string().nullable(),
    public_key: jwk,
    label: z.string().nullable(),
    state: z.enum(KEY_STATES),
    verified_at: timestamp.nullable(),
    sunset_at: timestamp.nullable(),
    last_used_at: timestamp.nullable(),
    created_at: timestamp,
  })
  .meta({ id: 'AgentKey' });

export const keyListSchema = pageSchema(keySchema, 'AgentKeyList');

export const agentKeysParams = z.object({ agent_id: z.uuid() });
export const keyParams = z.object({ agent_id: z.uuid(), key_id: z.uuid() });

export const keyListQuery = z.object({
  ...pageParameters,
  state: z.enum(KEY_STATES).optional(),
});

export const registerKeyBody = z
  .strictObject({
    algorithm,
    public_key: z
      .union(
        [
          z.string().min(1),
          z
            .record(z.string(), z.unknown())
            .meta(describeJwk('AgentKeyJwk', ['Ed25519', 'P-256', 'secp256k1'])),
        ],
        {
          error:
            'must be a JWK object, or a string: SPKI PEM, SPKI DER in base64, or the raw key in hex or base64',
        },
      )
      .meta({
        description:
          'JWK object, SPKI PEM, SPKI DER in base64, or the raw key in hex or base64: ed25519 32 bytes; bip340 32 bytes x-only or 33 compressed; es256 and es256k SEC1, compressed or not, or x‖y.',
        examples: [{ kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' }],
      }),
    label: z.string().min(1).max(200).nullable().optional(),
    proof: z.string().min(1).max(200).optional().meta({
      description:
        'Signature in base64 by this key over SERVICE-KEY-PROOF-V1, tenant id, agent id and fingerprint, joined by line feeds.',
    }),
  })
  .meta({ id: 'NewAgentKey' });

/** At most one of the two fields is given. Without them, the sunset is 7 days from now. */
export const deprecateKeyBody = z
  .strictObject({
    sunset_at: z.iso.datetime({ offset: true }).optional().meta({ description: 'In the future.' }),
    sunset_after_seconds: z.number().int().min(1).max(315_360_000).optional(),
  })
  .meta({
    id: 'AgentKeyDeprecation',
    not: { required: ['sunset_at', 'sunset_after_seconds'] },
    description: 'When the key ends: one of the two, or neither for 7 days from now.',
  });

export const revokeKeyBody = z
  .strictObject({ reason: z.string().min(1).max(500).optional() })
  .meta({ id: 'AgentKeyRevocation' });

/** Converts a key to its JSON answer. `public_key` is a JWK, even when the key was registered in another form. */
export function presentKey(key: AgentKey) {
  return present(keySchema, key, {
    key_id: key.id,
    public_key: toJwk({ algorithm: key.algorithm, raw: key.publicKey }),
  });
}
