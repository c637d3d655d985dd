// Event types of security: actions that a correct client does not perform.
import { z } from 'zod';
import { emitted, inCategory } from './event-type.ts';
import {
  address,
  agentId,
  clientId,
  count,
  failedUse,
  failures,
  id,
  keyId,
  reason,
  shown,
  windowSeconds,
} from './fields.ts';

const bruteForce = z.discriminatedUnion('method', [
  z
    .strictObject({ ...failedUse, failures, window_seconds: windowSeconds })
    .describe('Wrong signatures for a key.'),
  z
    .strictObject({
      method: z.literal('client_credentials'),
      client_id: clientId,
      address,
      reason,
      failures,
      window_seconds: windowSeconds,
    })
    .describe('Wrong secrets for a client.'),
  z
    .strictObject({
      method: z.literal('enrollment'),
      agent_id: agentId.optional(),
      enrollment_token_id: id('The enrollment token; absent when none was guessed.').optional(),
      address,
      failures,
      window_seconds: windowSeconds,
    })
    .describe('Wrong enrollment tokens, or wrong proofs for one.'),
]);

export const SECURITY = inCategory('Security', [
  emitted('security.brute_force.detected', 'Many authentications failed in a short time.', bruteForce),
  emitted(
    'security.refresh_token.reuse',
    'A spent refresh token was presented again; all that came of the same authentication has ended.',
    z.strictObject({
      agent_id: agentId,
      key_id: keyId,
      family_id: id(
        'The refresh tokens that came of one authentication.',
        '0199a1b2-b071-7283-8e9f-0a1b2c3d4e5f',
      ),
      client_id: clientId,
      address,
    }),
  ),
  emitted(
    'security.suspicious_activity',
    'Something happened that a correct client does not do, such as the use of a revoked key.',
    z.strictObject({
      ...failedUse,
      stage: shown(failedUse.stage, 'challenge'),
      kind: shown(z.enum(['revoked_key_used']), 'revoked_key_used'),
      count: count('How often since the last such event: there is one a minute at most.', 1),
    }),
  ),
]);
