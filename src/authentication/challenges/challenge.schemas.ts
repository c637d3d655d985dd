// Schemas of challenge and verification. `algorithm` accepts any text, because an unknown algorithm is answered with
// `invalid_grant` and not as a malformed request.
import { z } from 'zod';
import { AGENT_CLIENT_ID } from '../../identity/agents/agent.ts';
import { KEY_ALGORITHMS } from '../../platform/crypto/algorithm.ts';
import { idFields } from '../../platform/http/field-schemas.ts';
import { present } from '../../platform/http/present.ts';
import { hashScopes } from '../../platform/scope-hash.ts';
import { AGENT_SCOPES } from '../../platform/scopes.ts';
import type { Challenge } from './challenge.ts';

const HEX32 = /^[0-9a-f]{64}$/;
const hex32 = z.string().regex(HEX32, 'must be 64 lowercase hex digits');
const FINGERPRINT_FORM =
  'must be 64 lowercase hex digits: `fingerprint` in the answer that registered the key';

/** Source: Specification, "Agent authentication routes". */
export const challengeBody = z
  .strictObject({
    key_fingerprint: z.string().regex(HEX32, FINGERPRINT_FORM).meta({
      description: 'SHA-256 of the raw public key; that of its SPKI DER or compressed point is found too.',
    }),
    scope: z.string().meta({
      pattern: `^ *(${AGENT_SCOPES.join('|')})( +(${AGENT_SCOPES.join('|')}))* *$`,
      description: 'Space-separated scopes, of those that the agent may have.',
      examples: ['openid wallet:sign'],
    }),
    resource: z.string().optional().meta({
      description:
        "RFC 8707: which of the agent's `audience` and `audiences` the token is for, compared exactly; `audience` when absent. Any other is `invalid_target`, at the verification too when the agent has lost it.",
    }),
  })
  .meta({ id: 'ChallengeRequest' });

/** Source: Specification, "Challenge". */
export const challengeSchema = z
  .object({
    ...idFields('challenge_id'),
    nonce: hex32,
    timestamp: z.iso.datetime(),
    expires_at: z.iso.datetime(),
    audience: z.string(),
    client_id: z.literal(AGENT_CLIENT_ID),
    scope_hash: hex32,
    key_fingerprint: hex32,
    algorithm: z.enum(KEY_ALGORITHMS),
  })
  .meta({ id: 'Challenge' });

/** A request that is signed itself (RFC 9421) has neither `signature` nor `algorithm`. */
export const verifyBody = z
  .strictObject({
    // Accepts UUIDs of any version and variant: an unknown UUID is an unknown challenge, not a malformed request.
    challenge_id: z.guid(),
    signature: z.string().min(1).max(4_096).optional().meta({
      description:
        'Base64, standard or URL-safe, padded or not, over the canonical payload of the challenge. Absent when the request itself is signed (RFC 9421).',
    }),
    algorithm: z.string().optional().meta({ description: "The challenge's; any other is `invalid_grant`." }),
  })
  .meta({
    id: 'ChallengeVerification',
    dependentRequired: { signature: ['algorithm'], algorithm: ['signature'] },
  });

/** Source: Specification, "Token response". */
export const agentTokenSchema = z
  .object({
    access_token: z.string(),
    refresh_token: z.string(),
    token_type: z.enum(['Bearer', 'DPoP']).meta({ description: '`DPoP` when the request had a proof.' }),
    expires_in: z.int(),
    scope: z.string(),
  })
  .meta({ id: 'AgentTokenResponse' });

/** Converts a challenge to its JSON answer. */
export function presentChallenge(challenge: Challenge) {
  return present(challengeSchema, challenge, {
    challenge_id: challenge.id,
    timestamp: challenge.createdAt,
    client_id: AGENT_CLIENT_ID,
    scope_hash: hashScopes(challenge.scopes),
  });
}
