// Event types of administration: agents, their keys, delegations, and users.
import { z } from 'zod';
import { emitted, inCategory, published } from './event-type.ts';
import {
  agentId,
  algorithm,
  count,
  EXAMPLE,
  fingerprint,
  id,
  keyId,
  kid,
  moment,
  shown,
  signingAlgorithm,
  text,
  texts,
} from './fields.ts';

/** @param statuses those that it may have; the first is that of the example */
const agent = (...statuses: [string, ...string[]]) =>
  z.strictObject({
    agent_id: agentId,
    name: text('Display name.', 'Invoice Robot'),
    status: shown(z.enum(statuses), statuses[0]),
    capabilities: texts('web', 'mcp'),
    scopes: texts('openid', 'wallet:sign').describe('What the agent may ask for.'),
  });

const anchor = z.strictObject({
  agent_id: agentId,
  anchor_id: id('The anchor.', '0199a1b3-490a-7b1c-97d8-940516273849'),
  type: shown(z.enum(['domain_https', 'domain_dns']), 'domain_https'),
  value: text('The domain name.', 'agents.example.com'),
});
const lastError = (example: string) =>
  text(
    'What the latest look met instead of the proof, such as `http:404`; null without one.',
    example,
  ).nullable();
const missingSince = moment('The first of the looks in a row that did not find the proof.');

const key = z.strictObject({
  agent_id: agentId,
  key_id: keyId,
  key_fingerprint: fingerprint,
  algorithm,
});

export const ADMINISTRATION = inCategory('Administration', [
  emitted('admin.agent.registered', 'An agent was created.', agent('active')),
  emitted(
    'admin.agent.updated',
    'An agent was changed.',
    agent('active', 'suspended').extend({
      changed: texts('name').describe('Names of the fields that were sent.'),
    }),
  ),
  emitted('admin.agent.suspended', 'An agent was suspended.', agent('suspended')),
  emitted('admin.agent.reactivated', 'A suspended agent is active again.', agent('active')),
  emitted('admin.agent.deleted', 'An agent was deleted.', agent('deleted')),
  emitted(
    'admin.agent.receipt.completed',
    'All receivers of the news that an agent, a key or a delegation has ended have acknowledged it, or will not.',
    z.strictObject({
      agent_id: agentId,
      receipt_id: id('The receipt, and the event that it is of.', EXAMPLE.eventId),
      cause: text('The type of that event.', 'admin.agent.suspended'),
      status: shown(
        z.enum(['acknowledged', 'unacknowledged', 'waiting']).describe('`acknowledged`: by all.'),
        'acknowledged',
      ),
      receivers: count('Subscriptions and streams that were told.', 12),
      acknowledged: count('Those that have acknowledged.', 12),
      last_ack_ms: count('Milliseconds from the event to the last acknowledgement.', 812).nullable(),
    }),
  ),
  emitted(
    'admin.agent.key.registered',
    'A key was registered for an agent.',
    key.extend({ label: text('Name of the key.', 'laptop').nullable() }),
  ),
  emitted(
    'admin.agent.key.verified',
    "A key has proved itself: its challenge, or its registration's proof, was answered.",
    key.extend({ method: shown(z.enum(['challenge_response', 'proof']), 'challenge_response') }),
  ),
  emitted(
    'admin.agent.key.deprecated',
    'A key was deprecated and has a sunset.',
    key.extend({ sunset_at: moment('Until then it may authenticate.') }),
  ),
  emitted(
    'admin.agent.key.revoked',
    'A key was revoked.',
    key.extend({
      reason: text(
        'The reason that the revocation gave; `sunset` when its time was over.',
        'laptop was stolen',
      ).nullable(),
    }),
  ),
  emitted(
    'admin.agent.key.rotation_stalled',
    'An agent has not begun to use the new key of a rotation by its deadline.',
    z.strictObject({
      agent_id: agentId,
      rotation_id: id('The rotation.', '0199a1b3-05c6-77d8-93e4-5f6071829304'),
      old_key_id: id('The key that is to go.', EXAMPLE.keyId),
      new_key_id: id('The key that the agent has not used yet.', '0199a1b2-8d4e-7f50-9b6c-8e9f0a1b2c3d'),
      deadline_at: moment('Until then it should have been used.'),
    }),
  ),
  emitted('admin.agent.anchor.verified', "An anchor's proof was found.", anchor),
  emitted(
    'admin.agent.anchor.failed',
    "An anchor's proof was not found within seven days.",
    anchor.extend({ last_error: lastError('http:404') }),
  ),
  emitted(
    'admin.agent.anchor.missing',
    'The proof of a verified anchor was not found several times in a row; the anchor is still verified.',
    anchor.extend({
      missing_since: missingSince,
      revokes_at: moment(
        'When the anchor is revoked unless the proof is found again.',
        '2026-05-07T09:30:00.000Z',
      ),
      last_error: lastError('http:404'),
    }),
  ),
  emitted(
    'admin.agent.anchor.revoked',
    'An anchor was revoked.',
    anchor.extend({
      was: shown(z.enum(['pending', 'verified']).describe('Its status before.'), 'verified'),
      reason: text(
        'The reason that the revocation gave; `proof_missing` when its proof was gone for three days.',
        'proof_missing',
      ).nullable(),
      missing_since: missingSince.nullable(),
      last_error: lastError('dns:ENOTFOUND'),
    }),
  ),
  emitted(
    'admin.issuer.key.published',
    'A new issuer key is in the JWKS, and will sign.',
    z.strictObject({
      kid,
      algorithm: signingAlgorithm,
      activate_at: moment('From then on it signs; it may be brought forward.'),
    }),
  ),
  emitted(
    'admin.issuer.key.rotated',
    'Another issuer key signs, and what the one before has signed goes on verifying for a day.',
    z.strictObject({
      kid: kid.describe('The key that signs now.'),
      algorithm: signingAlgorithm,
      activated_at: moment('Since then it signs.'),
      previous_kid: text('The key before.', EXAMPLE.otherKid),
      previous_removed_at: moment('When that leaves the JWKS.').nullable(),
    }),
  ),
  emitted(
    'admin.issuer.key.revoked',
    'An issuer key was revoked: whatever it has signed is refused from now on. Fetch the JWKS anew.',
    z.strictObject({
      kid: shown(kid, EXAMPLE.otherKid),
      algorithm: signingAlgorithm,
      reason: text('The reason that the revocation gave.', 'a backup was stolen'),
      signing_kid: kid.describe('The key that signs now.').nullable(),
    }),
  ),
  emitted(
    'admin.delegation.revoked',
    'A delegation was revoked.',
    z.strictObject({
      delegation_id: id('The delegation.', '0199a1b2-c182-7394-9fa0-1b2c3d4e5f60'),
      agent_id: agentId,
      subject_id: id('`sub` of delegated tokens for this subject.', '0199a1b2-d293-74a5-80b1-2c3d4e5f6071'),
      scopes: texts('openid'),
    }),
  ),
  published('admin.user.created', 'A user was created.', {
    user_id: text('The user.', EXAMPLE.userId),
    email: text('Never an identifier of an agent.', 'ada@example.com'),
    role: text('Role of the user.', 'member'),
  }),
]);
