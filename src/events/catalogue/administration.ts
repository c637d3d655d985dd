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
  scopes,
  signingAlgorithm,
  text,
} from './fields.ts';

const agent = (status: readonly [string, ...string[]]) =>
  z.strictObject({
    agent_id: agentId,
    name: text('Display name.'),
    status: z.enum(status),
    capabilities: z.array(z.string()),
    scopes: scopes.describe('What the agent may ask for.'),
  });

const anchor = z.strictObject({
  agent_id: agentId,
  anchor_id: id('The anchor.'),
  type: z.enum(['domain_https', 'domain_dns']),
  value: text('The domain name.'),
});
const lastError = text(
  'What the latest look met instead of the proof, such as `http:404`; null without one.',
).nullable();
const missingSince = moment('The first of the looks in a row that did not find the proof.');

const STATUSES = ['active', 'suspended'] as const;

const key = z.strictObject({
  agent_id: agentId,
  key_id: keyId,
  key_fingerprint: fingerprint,
  algorithm,
});

const AGENT = {
  agent_id: EXAMPLE.agentId,
  name: 'Invoice Robot',
  capabilities: ['web', 'mcp'],
  scopes: ['openid', 'wallet:sign'],
};
const KEY = {
  agent_id: EXAMPLE.agentId,
  key_id: EXAMPLE.keyId,
  key_fingerprint: EXAMPLE.fingerprint,
  algorithm: 'ed25519' as const,
};

const ANCHOR = {
  agent_id: EXAMPLE.agentId,
  anchor_id: EXAMPLE.anchorId,
  type: 'domain_https' as const,
  value: 'agents.example.com',
};

export const ADMINISTRATION = inCategory('Administration', [
  emitted('admin.agent.registered', 'An agent was created.', agent(['active']), {
    ...AGENT,
    status: 'active',
  }),
  emitted(
    'admin.agent.updated',
    'An agent was changed.',
    agent(STATUSES).extend({ changed: z.array(z.string()).describe('Names of the fields that were sent.') }),
    { ...AGENT, status: 'active', changed: ['name'] },
  ),
  emitted('admin.agent.suspended', 'An agent was suspended.', agent(['suspended']), {
    ...AGENT,
    status: 'suspended',
  }),
  emitted('admin.agent.reactivated', 'A suspended agent is active again.', agent(['active']), {
    ...AGENT,
    status: 'active',
  }),
  emitted('admin.agent.deleted', 'An agent was deleted.', agent(['deleted']), {
    ...AGENT,
    status: 'deleted',
  }),
  emitted(
    'admin.agent.receipt.completed',
    'All receivers of the news that an agent, a key or a delegation has ended have acknowledged it, or will not.',
    z.strictObject({
      agent_id: agentId,
      receipt_id: id('The receipt, and the event that it is of.'),
      cause: text('The type of that event.'),
      status: z.enum(['acknowledged', 'unacknowledged', 'waiting']).describe('`acknowledged`: by all.'),
      receivers: count('Subscriptions and streams that were told.'),
      acknowledged: count('Those that have acknowledged.'),
      last_ack_ms: count('Milliseconds from the event to the last acknowledgement.').nullable(),
    }),
    {
      agent_id: EXAMPLE.agentId,
      receipt_id: EXAMPLE.eventId,
      cause: 'admin.agent.suspended',
      status: 'acknowledged',
      receivers: 12,
      acknowledged: 12,
      last_ack_ms: 812,
    },
  ),
  emitted(
    'admin.agent.key.registered',
    'A key was registered for an agent.',
    key.extend({ label: text('Name of the key.').nullable() }),
    { ...KEY, label: 'laptop' },
  ),
  emitted(
    'admin.agent.key.verified',
    "A key has proved itself: its challenge, or its registration's proof, was answered.",
    key.extend({ method: z.enum(['challenge_response', 'proof']) }),
    { ...KEY, method: 'challenge_response' },
  ),
  emitted(
    'admin.agent.key.deprecated',
    'A key was deprecated and has a sunset.',
    key.extend({ sunset_at: moment('Until then it may authenticate.') }),
    { ...KEY, sunset_at: EXAMPLE.moment },
  ),
  emitted(
    'admin.agent.key.revoked',
    'A key was revoked.',
    key.extend({
      reason: text('The reason that the revocation gave; `sunset` when its time was over.').nullable(),
    }),
    { ...KEY, reason: 'laptop was stolen' },
  ),
  emitted(
    'admin.agent.key.rotation_stalled',
    'An agent has not begun to use the new key of a rotation by its deadline.',
    z.strictObject({
      agent_id: agentId,
      rotation_id: id('The rotation.'),
      old_key_id: id('The key that is to go.'),
      new_key_id: id('The key that the agent has not used yet.'),
      deadline_at: moment('Until then it should have been used.'),
    }),
    {
      agent_id: EXAMPLE.agentId,
      rotation_id: EXAMPLE.rotationId,
      old_key_id: EXAMPLE.keyId,
      new_key_id: EXAMPLE.newKeyId,
      deadline_at: EXAMPLE.moment,
    },
  ),
  emitted('admin.agent.anchor.verified', "An anchor's proof was found.", anchor, ANCHOR),
  emitted(
    'admin.agent.anchor.failed',
    "An anchor's proof was not found within seven days.",
    anchor.extend({ last_error: lastError }),
    { ...ANCHOR, last_error: 'http:404' },
  ),
  emitted(
    'admin.agent.anchor.missing',
    'The proof of a verified anchor was not found several times in a row; the anchor is still verified.',
    anchor.extend({
      missing_since: missingSince,
      revokes_at: moment('When the anchor is revoked unless the proof is found again.'),
      last_error: lastError,
    }),
    {
      ...ANCHOR,
      missing_since: EXAMPLE.moment,
      revokes_at: '2026-05-07T09:30:00.000Z',
      last_error: 'http:404',
    },
  ),
  emitted(
    'admin.agent.anchor.revoked',
    'An anchor was revoked.',
    anchor.extend({
      was: z.enum(['pending', 'verified']).describe('Its status before.'),
      reason: text(
        'The reason that the revocation gave; `proof_missing` when its proof was gone for three days.',
      ).nullable(),
      missing_since: missingSince.nullable(),
      last_error: lastError,
    }),
    {
      ...ANCHOR,
      was: 'verified',
      reason: 'proof_missing',
      missing_since: EXAMPLE.moment,
      last_error: 'dns:ENOTFOUND',
    },
  ),
  emitted(
    'admin.issuer.key.published',
    'A new issuer key is in the JWKS, and will sign.',
    z.strictObject({
      kid,
      algorithm: signingAlgorithm,
      activate_at: moment('From then on it signs; it may be brought forward.'),
    }),
    { kid: EXAMPLE.kid, algorithm: 'ES256', activate_at: EXAMPLE.moment },
  ),
  emitted(
    'admin.issuer.key.rotated',
    'Another issuer key signs, and what the one before has signed goes on verifying for a day.',
    z.strictObject({
      kid: kid.describe('The key that signs now.'),
      algorithm: signingAlgorithm,
      activated_at: moment('Since then it signs.'),
      previous_kid: kid.describe('The key before.'),
      previous_removed_at: moment('When that leaves the JWKS.').nullable(),
    }),
    {
      kid: EXAMPLE.kid,
      algorithm: 'ES256',
      activated_at: EXAMPLE.moment,
      previous_kid: EXAMPLE.otherKid,
      previous_removed_at: EXAMPLE.moment,
    },
  ),
  emitted(
    'admin.issuer.key.revoked',
    'An issuer key was revoked: whatever it has signed is refused from now on. Fetch the JWKS anew.',
    z.strictObject({
      kid,
      algorithm: signingAlgorithm,
      reason: text('The reason that the revocation gave.'),
      signing_kid: kid.describe('The key that signs now.').nullable(),
    }),
    {
      kid: EXAMPLE.otherKid,
      algorithm: 'ES256',
      reason: 'a backup was stolen',
      signing_kid: EXAMPLE.kid,
    },
  ),
  emitted(
    'admin.delegation.revoked',
    'A delegation was revoked.',
    z.strictObject({
      delegation_id: id('The delegation.'),
      agent_id: agentId,
      subject_id: id('`sub` of delegated tokens for this subject.'),
      subject: z.strictObject({
        issuer: text('Who says so.'),
        sub: text('The subject, as the issuer names it.'),
      }),
      scopes,
      reason: text('The reason that the revocation gave.').nullable(),
    }),
    {
      delegation_id: EXAMPLE.delegationId,
      agent_id: EXAMPLE.agentId,
      subject_id: EXAMPLE.subjectId,
      subject: { issuer: 'https://idp.example.com', sub: 'user-4711' },
      scopes: ['openid'],
      reason: 'no longer needed',
    },
  ),
  published(
    'admin.user.created',
    'A user was created.',
    {
      user_id: text('The user.'),
      email: text('Never an identifier of an agent.'),
      role: text('Role of the user.'),
    },
    { user_id: EXAMPLE.userId, email: 'ada@example.com', role: 'member' },
  ),
]);
