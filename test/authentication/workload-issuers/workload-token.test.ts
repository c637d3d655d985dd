// The jwt-bearer grant: a workload gets a token for its agent without a stored secret, and each refusal of an
// assertion.
import { createHmac, randomUUID } from 'node:crypto';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import type { WorkloadIssuer } from '../../../src/authentication/workload-issuers/workload-issuer.ts';
import type { Tenant } from '../../../src/platform/context.ts';
import { createTestAgent, createTestTenant } from '../../identity/agents/agent-rooms.ts';
import { useTestDatabase } from '../../setup/database.ts';
import { createAccounts, requestTo } from '../tokens/accounts.ts';
import { claimsOf, codeOf } from '../tokens/refresh-fixture.ts';
import { newKey, type ProviderKey } from '../trusted-issuers/identity-provider.ts';
import { createWorkloadRooms, type WorkloadRooms } from './workload-rooms.ts';

const GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const ISSUER = 'https://token.actions.githubusercontent.com';
const AUDIENCE = 'https://id.example';
const SUBJECT = 'repo:acme/shop:ref:refs/heads/main';

const test = await useTestDatabase();
let tenant: Tenant;
let agentId: string;
let issuer: WorkloadIssuer;

const rooms = createWorkloadRooms(test.database);
const provider = await newKey('RS256');
const stranger = await newKey('RS256');
afterAll(() => rooms.closeWorkloads());
beforeEach(async () => {
  const context = await createTestTenant(rooms);
  ({ tenant } = context);
  const { agent } = await createTestAgent(rooms, context, { scopes: ['openid', 'vault:read'] });
  agentId = agent.id;
  issuer = await trust();
});

const seconds = () => Math.floor(Date.now() / 1000);
const trust = (more: Partial<Parameters<WorkloadRooms['workloadIssuers']['create']>[1]> = {}) =>
  rooms.workloadIssuers.create(requestTo(tenant), {
    issuer: ISSUER,
    jwks: { keys: [provider.jwk as never] },
    audiences: [AUDIENCE],
    rules: [{ agentId, claims: { sub: 'repo:acme/*:ref:refs/heads/main', environment: 'production' } }],
    ...more,
  });

const assert = (
  claims: Record<string, unknown> = {},
  header: Record<string, unknown> = {},
  key: ProviderKey = provider,
) =>
  key.sign(
    { iss: ISSUER, sub: SUBJECT, aud: AUDIENCE, environment: 'production', jti: randomUUID(), ...claims },
    header,
  );

const ask = async (
  assertion: string,
  parameters: Record<string, string> = {},
  request: Partial<Parameters<WorkloadRooms['tokenEndpoint']['requestToken']>[1]> = {},
  of: WorkloadRooms = rooms,
  address?: string,
) => {
  const sent = { authorization: undefined, parameters: { grant_type: GRANT, assertion, ...parameters } };
  return (await of.tokenEndpoint.requestToken(requestTo(tenant, address), { ...sent, ...request })).answer;
};

/** An address from which an assertion that was used is not the same request again. */
const ELSEWHERE = '198.51.100.1';

const refusal = (assertion: string, parameters: Record<string, string> = {}, address?: string) =>
  ask(assertion, parameters, {}, rooms, address).then(
    () => 'accepted',
    ({ code, message }: Error & { code: string }) => `${code}: ${message}`,
  );

describe('an assertion', () => {
  it('gets a token of the agent that the rules name, with its scopes and no refresh token', async () => {
    const answer = await ask(await assert());
    expect(answer).toEqual({
      access_token: expect.any(String),
      token_type: 'Bearer',
      expires_in: expect.any(Number),
      scope: 'openid vault:read',
    });
    expect(claimsOf(answer.access_token)).toMatchObject({
      sub: agentId,
      client_id: issuer.id,
      subject_type: 'agent',
      aud: tenant.audience,
    });
    const principal = await rooms.tokens.authenticate(tenant, answer.access_token);
    expect(principal).toMatchObject({ kind: 'agent', agentId });
  });

  it('gets a part of the scopes, and never another one', async () => {
    expect((await ask(await assert(), { scope: 'openid' })).scope).toBe('openid');
    expect(await refusal(await assert(), { scope: 'openid wallet:sign' })).toMatch(/^invalid_scope/);
    expect(await refusal(await assert(), { resource: 'https://other.example' })).toMatch(/^invalid_target/);
    await rooms.agents.update(requestTo(tenant), agentId, { scopes: ['openid'] });
    expect((await ask(await assert())).scope).toBe('openid');
  });

  it.each<[string, Record<string, unknown>, Record<string, unknown>, RegExp]>([
    ['another audience', { aud: 'https://other.example' }, {}, /another audience/],
    [
      'another audience beside the right one',
      { aud: [AUDIENCE, 'https://other.example'] },
      {},
      /another audience/,
    ],
    ['no audience', { aud: undefined }, {}, /another audience/],
    ['an empty list of audiences', { aud: [] }, {}, /another audience/],
    ['an exp in the past', { exp: seconds() - 1 }, {}, /has expired/],
    ['no exp', { exp: undefined }, {}, /has no exp/],
    ['an exp that is no number', { exp: '99999999999' }, {}, /has no exp/],
    ['an exp more than a day ahead', { exp: seconds() + 90_000 }, {}, /within a day/],
    ['an nbf in the future', { nbf: seconds() + 120 }, {}, /not valid yet/],
    ['an iat in the future', { iat: seconds() + 120 }, {}, /not valid yet/],
    ['no sub', { sub: undefined }, {}, /no sub/],
    ['a foreign sub', { sub: 'repo:evil/shop:ref:refs/heads/main' }, {}, /no rule/],
    ['a sub with more segments', { sub: `repo:acme/x:y:ref:refs/heads/main` }, {}, /no rule/],
    ['another claim than the rule wants', { environment: 'test' }, {}, /no rule/],
    ['a claim of the rule missing', { environment: undefined }, {}, /no rule/],
    ['an unknown kid', {}, { kid: 'other' }, /key that its issuer does not have/],
    ['the type of an access token', {}, { typ: 'at+jwt' }, /another type/],
    ['the type of a proof', {}, { typ: 'dpop+jwt' }, /another type/],
    ['a key binding', { cnf: { jkt: 'x' } }, {}, /bound to a key/],
    ['a jti that is no text', { jti: 7 }, {}, /malformed jti/],
    ['another issuer', { iss: 'https://other.example' }, {}, /does not trust/],
    ['no issuer', { iss: undefined }, {}, /does not trust/],
  ])('with %s is invalid_grant', async (_name, claims, header, fault) => {
    const told = await refusal(await assert(claims, header));
    expect(told).toMatch(/^invalid_grant: The assertion /);
    expect(told).toMatch(fault);
  });

  it('that fits no rule is told its sub, in the answer and in the audit log', async () => {
    const sub = 'repo:acme@65/shop@74:ref:refs/heads/main';
    const detail = `The assertion with the sub ${sub} fits no rule of its issuer.`;
    expect(await refusal(await assert({ sub }))).toBe(`invalid_grant: ${detail}`);
    await rooms.workloadFailures.settled();
    const { rows } = await test.database.query<{ detail: string }>(
      "SELECT data->>'detail' AS detail FROM audit_log WHERE tenant_id = $1 AND action = 'auth.login.failure'",
      [tenant.id],
    );
    expect(rows).toEqual([{ detail }]);
  });

  it('by another key, of the algorithm none, or by HMAC with the public key is invalid_grant', async () => {
    expect(await refusal(await assert({}, {}, stranger))).toMatch(/^invalid_grant.*wrong signature/);
    const encode = (part: unknown) => Buffer.from(JSON.stringify(part)).toString('base64url');
    const [, payload = ''] = (await assert()).split('.');
    const none = encode({ alg: 'none', kid: provider.jwk.kid });
    for (const text of [`${none}.${payload}.`, `${none}.${payload}.AAAA`, 'x', 'a.b.c', ''])
      expect(await codeOf(ask(text))).toMatch(/^invalid_(grant|request)$/);
    const hs = `${encode({ alg: 'HS256', kid: provider.jwk.kid })}.${payload}`;
    const mac = createHmac('sha256', JSON.stringify(provider.jwk)).update(hs).digest('base64url');
    expect(await refusal(`${hs}.${mac}`)).toMatch(/^invalid_grant.*alg/);
  });

  it('is good once, in two processes too, and a refused one is not used up', async () => {
    const other = createWorkloadRooms(test.database, {
      accounts: createAccounts(test.database, { masterKeys: rooms.masterKeys }),
    });
    const text = await assert();
    expect(await codeOf(ask(text, { scope: 'wallet:sign' }))).toBe('invalid_scope');
    const uses = Array.from({ length: 20 }, (_, index) =>
      codeOf(ask(text, {}, {}, index % 2 ? rooms : other, `192.0.2.${index}`)),
    );
    const codes = await Promise.all(uses);
    expect(codes.filter((code) => code === 'accepted')).toHaveLength(1);
    expect(new Set(codes)).toEqual(new Set(['accepted', 'invalid_grant']));
    await other.closeWorkloads();
  });

  it('without a jti is known by what is signed, and another one is another', async () => {
    const text = await assert({ jti: undefined, nonce: 'a' });
    expect(await refusal(text)).toBe('accepted');
    expect(await refusal(text, {}, ELSEWHERE)).toMatch(/used before/);
    expect(await refusal(await assert({ jti: undefined, nonce: 'b' }))).toBe('accepted');
  });

  it('with a jti that was used is refused although all else is new, also after its issuer was made anew', async () => {
    const jti = randomUUID();
    expect(await refusal(await assert({ jti }))).toBe('accepted');
    expect(await refusal(await assert({ jti, exp: seconds() + 900 }))).toMatch(/used before/);
    await rooms.workloadIssuers.remove(requestTo(tenant), issuer.id);
    await trust();
    expect(await refusal(await assert({ jti, exp: seconds() + 800 }))).toMatch(/used before/);
  });

  it('that is too long, or for a resource with a slash too many, is told what is right', async () => {
    expect(await refusal('x'.repeat(16_385))).toMatch(/has 16385 characters, of at most 16384/);
    expect(await refusal(await assert(), { resource: `${tenant.audience}/` })).toContain(
      `audiences that this agent may ask for; ${tenant.audience} is one.`,
    );
  });

  it('beside credentials of a client is invalid_client, and without a text invalid_request', async () => {
    const text = await assert();
    expect(await codeOf(ask(text, {}, { authorization: 'Basic eDp4' }))).toBe('invalid_client');
    expect(await codeOf(ask(text, { client_assertion: 'x' }))).toBe('invalid_client');
    expect(await codeOf(ask(text, { client_secret: 'x' }))).toBe('invalid_client');
    const nothing = { authorization: undefined, parameters: { grant_type: GRANT } };
    expect(await codeOf(rooms.tokenEndpoint.requestToken(requestTo(tenant), nothing))).toBe(
      'invalid_request',
    );
    expect(await refusal(text)).toBe('accepted');
  });

  it('of another tenant is of an issuer that is not trusted', async () => {
    const text = await assert();
    ({ tenant } = await createTestTenant(rooms));
    expect(await refusal(text)).toMatch(/does not trust/);
  });

  it('from before a suspension of the tenant is refused after it', async () => {
    const resumedAt = new Date((seconds() - 5) * 1000);
    tenant = { ...tenant, resumedAt };
    expect(await refusal(await assert({ iat: seconds() - 10 }))).toMatch(/before the tenant was suspended/);
    expect(await refusal(await assert({ iat: undefined }))).toMatch(/before the tenant was suspended/);
    expect(await refusal(await assert({ iat: seconds() }))).toBe('accepted');
  });
});

describe('the agent', () => {
  it('suspended or deleted gets nothing, and its tokens end', async () => {
    const { access_token } = await ask(await assert());
    await rooms.agents.suspend(requestTo(tenant), agentId);
    expect(await codeOf(rooms.tokens.authenticate(tenant, access_token))).toBe('token_revoked');
    expect(await refusal(await assert())).toMatch(/^policy_denied/);
    await rooms.agents.reactivate(requestTo(tenant), agentId);
    expect(await refusal(await assert())).toBe('accepted');
    await rooms.agents.remove(requestTo(tenant), agentId);
    expect(await refusal(await assert())).toMatch(/^invalid_grant.*deleted/);
  });

  it('that must prove a key gets nothing without a proof; nor does anybody under fapi2', async () => {
    await rooms.agents.update(requestTo(tenant), agentId, { dpopBoundAccessTokens: true });
    expect(await refusal(await assert())).toMatch(/^invalid_dpop_proof/);
    await rooms.agents.update(requestTo(tenant), agentId, { dpopBoundAccessTokens: false });
    tenant = { ...tenant, securityProfile: 'fapi2' };
    expect(await refusal(await assert())).toMatch(/^invalid_dpop_proof/);
  });
});

describe('a change of the issuer', () => {
  it('that takes a rule, an audience or the keys away refuses the next assertion, and ends tokens', async () => {
    for (const change of [
      { rules: [] },
      { rules: [{ agentId, claims: { sub: 'repo:acme/other:ref:refs/heads/main' } }] },
      { audiences: ['https://other.example'] },
      { jwks: { keys: [stranger.jwk as never] } },
    ]) {
      const { access_token } = await ask(await assert());
      await rooms.workloadIssuers.update(requestTo(tenant), issuer.id, change);
      expect(await refusal(await assert())).toMatch(/^invalid_grant/);
      expect(await codeOf(rooms.tokens.authenticate(tenant, access_token))).toBe('token_revoked');
      const { audiences, rules, jwks } = issuer;
      await rooms.workloadIssuers.update(requestTo(tenant), issuer.id, { audiences, rules, jwks });
      expect(await refusal(await assert())).toBe('accepted');
    }
  });

  it('that only adds something ends nothing', async () => {
    const { access_token } = await ask(await assert());
    const rules = [...issuer.rules, { agentId, claims: { sub: 'x' } }];
    await rooms.workloadIssuers.update(requestTo(tenant), issuer.id, { rules });
    expect(await codeOf(rooms.tokens.authenticate(tenant, access_token))).toBe('accepted');
  });

  it('that removes it ends its tokens', async () => {
    const { access_token } = await ask(await assert());
    await rooms.workloadIssuers.remove(requestTo(tenant), issuer.id);
    expect(await codeOf(rooms.tokens.authenticate(tenant, access_token))).toBe('token_revoked');
    expect(await refusal(await assert())).toMatch(/does not trust/);
  });
});

describe('a JWT-SVID', () => {
  const sub = 'spiffe://example.org/shop/buyer';
  const svid = (claims: Record<string, unknown> = {}, header: Record<string, unknown> = {}) =>
    provider.sign({ iss: undefined, sub, aud: AUDIENCE, ...claims }, header);
  const trustDomain = (more: object = {}) =>
    trust({
      issuer: 'spiffe://example.org',
      jwks: { keys: [{ ...provider.jwk, use: 'jwt-svid' } as never] },
      rules: [{ agentId, claims: { sub: 'spiffe://example.org/shop/*' } }],
      ...more,
    });

  it('needs no iss and no jti, and is good once', async () => {
    await trustDomain();
    const text = await svid();
    expect(await refusal(text)).toBe('accepted');
    expect(await refusal(text, {}, ELSEWHERE)).toMatch(/used before/);
    expect(await refusal(await svid({ aud: [AUDIENCE] }, { typ: 'JOSE' }))).toBe('accepted');
  });

  it('of another trust domain, or without a path, is refused', async () => {
    await trustDomain();
    for (const foreign of ['spiffe://other.org/shop/buyer', 'spiffe://example.org', 'repo:acme/shop'])
      expect(await refusal(await svid({ sub: foreign }))).toMatch(/^invalid_grant/);
    expect(await refusal(await svid({ sub: 'spiffe://example.org/other/buyer' }))).toMatch(/no rule/);
  });

  it('of a trust domain is never verified with the keys of an issuer that names itself', async () => {
    await trustDomain({ jwks: { keys: [{ ...stranger.jwk, use: 'jwt-svid' } as never] } });
    // ISSUER signs it with its own key; without `iss` the keys of the trust domain count, with it the rules of ISSUER.
    expect(await refusal(await svid())).toMatch(/wrong signature/);
    expect(await refusal(await svid({ iss: ISSUER }))).toMatch(/no rule/);
  });

  it('needs a rule on its sub', async () => {
    const rules = [{ agentId, claims: { aud: AUDIENCE } }];
    await expect(trustDomain({ rules })).rejects.toMatchObject({ code: 'invalid_request' });
  });
});

describe('the records', () => {
  it('say which workload got the token, and which assertion was refused why', async () => {
    const jti = randomUUID();
    const { access_token } = await ask(await assert({ jti }));
    await refusal(await assert({ jti, exp: seconds() + 900 }));
    await refusal(await assert({ iss: 'https://other.example' }));
    await rooms.workloadFailures.settled();
    const { rows } = await test.database.query(
      "SELECT action, outcome, reason, actor_id, target_type, target_id, token_id, data FROM audit_log WHERE tenant_id = $1 AND action LIKE 'auth.%' ORDER BY id",
      [tenant.id],
    );
    const done = { outcome: 'success', reason: null, token_id: claimsOf(access_token).jti };
    const success = { ...done, actor_id: agentId, target_type: 'agent', target_id: agentId };
    const failure = { outcome: 'failure', reason: 'invalid_grant', token_id: null, actor_id: null };
    const method = 'jwt_bearer';
    const login = { method, workload_issuer_id: issuer.id, subject: SUBJECT, assertion_id: jti };
    const scope = 'openid vault:read';
    const issued = { method, client_id: issuer.id, scope, audience: tenant.audience };
    const refused = {
      method,
      detail: 'The assertion was used before: ask its issuer for a new one each time.',
    };
    const target = { target_type: 'workload_issuer', target_id: issuer.id };
    expect(rows).toEqual([
      { ...success, action: 'auth.login.success', data: login },
      { ...success, action: 'auth.token.issued', data: issued },
      { ...failure, ...target, action: 'auth.login.failure', data: refused },
    ]);
    const events = await test.database.query<{ type: string }>(
      "SELECT type FROM events WHERE tenant_id = $1 AND type LIKE 'auth.%' ORDER BY id",
      [tenant.id],
    );
    expect(events.rows.map(({ type }) => type)).toEqual([
      'auth.login.success',
      'auth.token.issued',
      'auth.login.failure',
    ]);
  });

  it('end beyond the limit of an address, whose right assertions go on', async () => {
    const limited = createWorkloadRooms(test.database, {
      accounts: createAccounts(test.database, { masterKeys: rooms.masterKeys }),
      clientFailures: 3,
    });
    const text = async (claims: object = {}) => codeOf(ask(await assert({ ...claims }), {}, {}, limited));
    const codes = [];
    for (let tries = 0; tries < 5; tries += 1) codes.push(await text({ environment: 'test' }));
    expect(codes).toEqual([...Array(3).fill('invalid_grant'), 'rate_limited', 'rate_limited']);
    expect(await text()).toBe('accepted');
    await limited.workloadFailures.settled();
    const { rows } = await test.database.query(
      "SELECT 1 FROM audit_log WHERE tenant_id = $1 AND action = 'auth.login.failure'",
      [tenant.id],
    );
    expect(rows).toHaveLength(3);
    await limited.closeWorkloads();
  });
});
