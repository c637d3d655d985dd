// Event types of administration: agents, their keys, delegations, and users.
import { z } from 'zod';
import { emitted, inCategory, published } from './event-type.ts';
import { agentId, algorithm, EXAMPLE, fingerprint, id, keyId, moment, scopes, text } from './fields.ts';

const agent = (status: readonly [string, ...string[]]) =>
  z.strictObject({
    agent_id: agentId,
    name: text('Display name.'),
    status: z.enum(status),
    capabilities: z.array(z.string()),
    scopes: scopes.describe('What the agent may ask for.'),
  });

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
      reason: text('Why, as whoever revoked it said; `sunset` when its time was over.').nullable(),
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
      reason: text('Why, as whoever revoked it said.').nullable(),
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
