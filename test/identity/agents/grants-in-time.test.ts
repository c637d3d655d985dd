// Nobody widens by waiting: each kind of credential is granted while its agent is weak, the agent is widened by an
// administrator, and then the credential is used. It has ended, or is as weak as before, or stands in a list.
import { describe, expect, it } from 'vitest';
import type { RequestContext } from '../../../src/platform/context.ts';
import { useExchange } from '../../authentication/token-exchange/exchange-fixture.ts';
import { basic } from '../../authentication/tokens/accounts.ts';
import { claimsOf, issueFirst } from '../../authentication/tokens/refresh-fixture.ts';
import { proveFreshKey } from '../enrollments/enrolling.ts';
import { createTestAgent } from './agent-rooms.ts';

const { world, server } = await useExchange();
const { rooms, context: admin, tenant } = world;
const { principal } = admin;
if (principal === undefined) throw new Error('the administrator has no principal');
/** Who holds what the agent has at first, and not what it gets. */
const weak: RequestContext = {
  ...admin,
  principal: {
    ...principal,
    scopes: ['agents:read', 'agents:write', 'applications:write', 'delegations:write', 'openid'],
  },
};
const WIDER = {
  scopes: ['openid', 'wallet:sign'],
  capabilities: ['pay:all'],
  audiences: ['https://bank.example'],
} as const;

const newAgent = () => createTestAgent(rooms, admin, { scopes: ['openid'], capabilities: [] });
const widen = (agentId: string, change: object = WIDER) => rooms.agents.update(admin, agentId, change);
const invite = async (agentId: string) => {
  const { token } = await rooms.enrollments.create(weak, agentId);
  const owner = { tenantId: tenant.id, agentId };
  return () =>
    rooms.enrollments.enroll({ ...admin, principal: undefined }, { ...proveFreshKey(owner), token });
};
const requestToken = async (authorization: string, parameters: Record<string, string>) => {
  const body = new URLSearchParams(parameters).toString();
  const answer = await (await server.requestToken(tenant.issuerUrl, body, { authorization })).json();
  return claimsOf(answer.access_token);
};

describe('an enrollment token that was made while the agent was weak', () => {
  it.each<[string, object]>([
    ['a scope', { scopes: WIDER.scopes }],
    ['a capability', { capabilities: WIDER.capabilities }],
    ['another audience', { audience: 'https://bank.example' }],
    ['a further audience', { audiences: WIDER.audiences }],
    ['a waiver of proofs', { dpopBoundAccessTokens: false }],
  ])('has ended when the agent gets %s, and the audit log says so', async (_what, change) => {
    const { agent } = await newAgent();
    await widen(agent.id, { dpopBoundAccessTokens: true });
    const enroll = await invite(agent.id);
    expect(await rooms.agents.get(admin, agent.id)).toMatchObject({ openEnrollmentTokens: 1 });
    expect(await widen(agent.id, change)).toMatchObject({ openEnrollmentTokens: 0 });
    await expect(enroll()).rejects.toMatchObject({ code: 'invalid_grant' });
    const listed = await rooms.enrollments.list(admin, agent.id, { limit: 10 });
    expect(listed.data).toMatchObject([{ usedAt: null, revokedAt: expect.any(Date) }]);
    const { rows } = await rooms.database.query(
      `SELECT 1 FROM audit_log WHERE target_id = $1 AND action = 'agent.updated'
         AND data ->> 'revoked_enrollment_tokens' = '1'`,
      [agent.id],
    );
    expect(rows).toHaveLength(1);
  });

  it('lives on when the agent is renamed, must prove keys, or loses a capability', async () => {
    const { agent } = await newAgent();
    const enroll = await invite(agent.id);
    await widen(agent.id, { name: 'New', dpopBoundAccessTokens: true });
    expect(await rooms.agents.list(admin, { limit: 100 })).toMatchObject({
      data: expect.arrayContaining([expect.objectContaining({ id: agent.id, openEnrollmentTokens: 1 })]),
    });
    expect(await enroll()).toMatchObject({ agentId: agent.id, state: 'active' });
    expect(await rooms.agents.get(admin, agent.id)).toMatchObject({ openEnrollmentTokens: 0 });
  });
});

describe('a credential that was granted while the agent was weak stands in a list, or stays weak:', () => {
  it('a key, and one of a rotation, stand in the list of keys', async () => {
    const { agent, key } = await newAgent();
    const fresh = proveFreshKey({ tenantId: tenant.id, agentId: agent.id });
    const { newKeyId } = await rooms.rotations.begin(weak, agent.id, { ...fresh, oldKeyId: key.id });
    await widen(agent.id);
    const { data } = await rooms.keys.list(admin, agent.id, { limit: 10 });
    expect(data.map(({ id }) => id)).toEqual([newKeyId, key.id]);
  });

  it('a secret of a linked application has the scopes of its application', async () => {
    const { agent } = await newAgent();
    const made = await rooms.applications.create(weak, {
      name: 'x',
      scopes: ['openid'],
      agentId: agent.id,
    });
    await widen(agent.id);
    const claims = await requestToken(basic(made.application.id, made.clientSecret), {
      grant_type: 'client_credentials',
    });
    expect(claims).toMatchObject({ sub: agent.id, scope: 'openid' });
    expect((await rooms.applications.get(admin, made.application.id)).secrets).toHaveLength(1);
  });

  it('a secret of an application without an agent gets what its application got, and stands in its list', async () => {
    const made = await rooms.applications.create(weak, { name: 'y', scopes: ['agents:read'] });
    const { id } = made.application;
    const { secret } = await rooms.applications.addSecret(weak, id);
    await rooms.applications.update(admin, id, { scopes: ['agents:read', 'wallet:sign'] });
    const get = () => requestToken(basic(id, made.clientSecret), { grant_type: 'client_credentials' });
    expect(await get()).toMatchObject({ sub: id, scope: 'agents:read wallet:sign' });
    const { secrets } = await rooms.applications.get(admin, id);
    expect(secrets.map((listed) => listed.id)).toEqual([secret.id, expect.any(String)]);
    await expect(rooms.applications.addSecret(weak, id)).rejects.toMatchObject({ code: 'conflict' });
    await rooms.applications.removeSecret(admin, id, secret.id);
    await expect(rooms.applications.addSecret(weak, id)).rejects.toMatchObject({
      code: 'insufficient_scope',
    });
  });

  it('a delegation has its scopes and, where it names one, its audience', async () => {
    const { agent, key } = await newAgent();
    const user = await world.newUser();
    await rooms.delegations.create(weak, {
      subject: { issuer: user.issuer, sub: user.sub },
      agentId: agent.id,
      scopes: ['openid'],
      audience: tenant.audience,
      expiresAt: new Date(Date.now() + 3_600_000),
    });
    await widen(agent.id);
    const token = { agentId: agent.id, keyId: key.id, scopes: ['openid', 'wallet:sign'] };
    const actor = await issueFirst(rooms, admin, token);
    const { claims } = await world.exchange(user.token, actor);
    expect(claims).toMatchObject({ scope: 'openid', aud: tenant.audience });
    expect(await world.outcome(user.token, actor, { scope: 'wallet:sign' })).toBe('400 invalid_scope');
    const elsewhere = { audience: 'https://bank.example' };
    expect(await world.outcome(user.token, actor, elsewhere)).toBe('400 invalid_target');
  });

  it('a refresh token gets what its authentication got', async () => {
    const { agent, key } = await newAgent();
    const first = await issueFirst(rooms, admin, { agentId: agent.id, keyId: key.id, scopes: ['openid'] });
    await widen(agent.id);
    const body = new URLSearchParams({
      grant_type: 'refresh_token',
      refresh_token: first.refreshToken,
      client_id: 'service-agent',
    }).toString();
    const answer = await (await server.requestToken(tenant.issuerUrl, body, {})).json();
    expect(claimsOf(answer.access_token)).toMatchObject({ sub: agent.id, scope: 'openid' });
  });

  it('a rule of a workload issuer stands in the list of issuers', async () => {
    const { agent } = await newAgent();
    const { id } = await rooms.workloadIssuers.create(weak, {
      issuer: 'https://pods.example',
      jwksUri: 'https://pods.example/jwks',
      audiences: ['https://id.example'],
      rules: [{ agentId: agent.id, claims: { sub: 'x' } }],
    });
    await widen(agent.id);
    const { data } = await rooms.workloadIssuers.list(admin, { limit: 10 });
    expect(data).toMatchObject([{ id, rules: [{ agentId: agent.id }] }]);
  });
});

it('who cannot grant a credential of the widened agent gets none of any kind', async () => {
  const { agent, key } = await newAgent();
  await rooms.keys.deprecate(admin, agent.id, key.id, { sunsetAfterSeconds: 60 });
  await widen(agent.id);
  const refused = { code: 'insufficient_scope' };
  await expect(invite(agent.id)).rejects.toMatchObject(refused);
  const longer = rooms.keys.deprecate(weak, agent.id, key.id, { sunsetAfterSeconds: 600 });
  await expect(longer).rejects.toMatchObject(refused);
  await rooms.keys.deprecate(weak, agent.id, key.id, { sunsetAfterSeconds: 30 });
});
