// Event types of authentication. Events of one type differ by `method` or `token_type`.
import { z } from 'zod';
import { emitted, inCategory, published } from './event-type.ts';
import {
  address,
  agentId,
  clientId,
  count,
  EXAMPLE,
  failedUse,
  fingerprint,
  id,
  keyId,
  moment,
  reason,
  shown,
  text,
  tokenId,
} from './fields.ts';

const byChallenge = {
  method: z.literal('challenge_response'),
  agent_id: agentId,
  key_id: keyId,
  key_fingerprint: fingerprint,
};
const byClient = {
  method: z.literal('client_credentials'),
  client_id: clientId,
  sub: id('`sub` of the token: the linked agent, else the application.'),
  agent_id: agentId.optional(),
};
const byWorkload = {
  method: z.literal('jwt_bearer'),
  agent_id: agentId,
  workload_issuer_id: id('The workload issuer whose assertion it was; also the `client_id` of the token.'),
};
const issued = {
  token_id: tokenId,
  client_id: clientId,
  scope: text('Scopes, separated by spaces.', 'openid wallet:sign'),
  audience: text('Audience of the token.', 'https://api.example.com'),
  expires_in: count('Seconds until the token expires.', 300),
};
const repetitions = count('How many such failures this event stands for: there is one a minute at most.', 3);

const loginSuccess = z.discriminatedUnion('method', [
  z.strictObject({ ...byChallenge, address }),
  z.strictObject({ ...byClient, address }),
  z.strictObject({ ...byWorkload, address, subject: text('`sub` of the assertion.') }),
]);

const loginFailure = z.discriminatedUnion('method', [
  z.strictObject({ ...failedUse, reason, count: repetitions }),
  z.strictObject({
    method: z.enum(['client_credentials', 'token_exchange']),
    client_id: clientId,
    address,
    reason,
    count: repetitions,
  }),
  z.strictObject({
    method: z.literal('jwt_bearer'),
    workload_issuer_id: byWorkload.workload_issuer_id,
    address,
    reason,
    count: repetitions,
  }),
]);

const tokenIssued = z.discriminatedUnion('method', [
  z.strictObject({ ...byChallenge, ...issued }),
  z.strictObject({ ...byClient, ...issued }),
  z.strictObject({ ...byWorkload, ...issued }),
  z.strictObject({
    method: z.literal('refresh_token'),
    agent_id: agentId,
    key_id: keyId,
    ...issued,
    repeated: z
      .literal(true)
      .optional()
      .describe('The refresh token was spent before: the answer is the same successor again.'),
  }),
  z.strictObject({
    method: z.literal('token_exchange'),
    agent_id: agentId.describe('The agent that acts.'),
    ...issued,
    delegation_id: id('The delegation on which the agent acts.'),
    subject_id: id('`sub` of the token: whom the agent acts for.'),
    actor_token_id: id("`jti` of the agent's own token."),
    subject_token_id: id("`jti` of the subject's token, when it is of this issuer.").optional(),
    actors: z.array(z.string()).describe('Ids of all who act, the last one first.'),
  }),
]);

const revokedBy = text('The client whose request ended it.', '0199a1b2-9e5f-7061-8c7d-8e9f0a1b2c3d');
const cause = text(
  'The action in the audit log that ended it; absent when a client asked for the revocation.',
).optional();
const tokenRevoked = z.discriminatedUnion('token_type', [
  z.strictObject({
    token_type: z.literal('access_token'),
    token_id: tokenId,
    sub: id('`sub` of the token.', EXAMPLE.agentId),
    client_id: clientId,
    revoked_by: revokedBy,
    expires_at: moment('When it would have expired.').optional(),
    cause,
  }),
  z.strictObject({
    token_type: z.literal('refresh_token'),
    family_id: id('The refresh tokens that came of one authentication: all of them have ended.'),
    sub: id('The agent.'),
    client_id: clientId,
    revoked_by: revokedBy,
    cause,
  }),
  z.strictObject({
    token_type: z.literal('all').describe('All access tokens of a principal have ended.'),
    sub: id('The agent, application, workload issuer or tenant whose tokens have ended.'),
    principal: z.enum(['agent', 'application', 'workload_issuer', 'tenant']),
    ends: z
      .enum(['now', 'ever'])
      .describe(
        '`now`: those that were issued until now; `ever`: later ones too, until such an event with `now`.',
      ),
    cause: text('The action in the audit log that ended them.'),
  }),
]);

const userId = text('The user.', EXAMPLE.userId);

export const AUTHENTICATION = inCategory('Authentication', [
  emitted('auth.login.success', 'An agent or an application has authenticated.', loginSuccess),
  emitted('auth.login.failure', 'An authentication with a known key or client failed.', loginFailure),
  emitted('auth.token.issued', 'An access token was issued.', tokenIssued),
  emitted('auth.token.revoked', 'A token was revoked, or all of a principal have ended.', tokenRevoked),
  published('auth.logout', 'A session ended.', {
    user_id: userId,
    session_id: text('The session.', 's-7731'),
    reason: text('Why: `user`, `timeout` or `administrator`.', 'user'),
  }),
]);

const secondFactor = {
  user_id: userId,
  factor: text('`totp`, `webauthn`, `sms` …', 'webauthn'),
  challenge_id: text('The challenge.', 'c-1903'),
};

export const MFA_AND_RISK = inCategory('MFA and risk', [
  published('auth.mfa.challenge', 'A second factor was asked for.', secondFactor),
  published('auth.mfa.verify', 'A second factor was verified.', {
    ...secondFactor,
    success: shown(z.boolean().describe('Whether the answer was right.'), true),
  }),
  published('auth.adaptive_mfa.triggered', 'A risk rule asked for a second factor.', {
    user_id: userId,
    rule: text('The rule.', 'new_country'),
    risk_score: shown(z.number().describe('From 0 to 1.'), 0.82),
    address: text('IP address of the user.', EXAMPLE.address),
  }),
]);
