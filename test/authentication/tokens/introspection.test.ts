// Introspection and revocation over HTTP: what they tell, and that they tell nothing to or about others.
import { describe, expect, it } from 'vitest';
import { createTestAgent, readAudit, readEvents } from '../../identity/agents/agent-rooms.ts';
import { basic, provisionTenant, requestTo } from './accounts.ts';
import { useAccountsServer } from './accounts-server.ts';
import { claimsOf, createHolder, issueFirst, refresh } from './refresh-fixture.ts';

const { test, server } = await useAccountsServer();

const { rooms } = server;
await provisionTenant(server.accounts, 'stranger');

/** An agent with its tokens, and an application of its tenant with other scopes. */
async function prepare() {
  const holder = await createHolder(rooms);
  const { application, clientSecret } = await rooms.applications.create(requestTo(holder.context.tenant), {
    name: 'Gateway',
    scopes: ['webhooks:read'],
  });
  const authorization = basic(application.id, clientSecret);
  const { issuerUrl } = holder.context.tenant;
  const ask = async (
    path: string,
    parameters: Record<string, string>,
    headers: Record<string, string> = {},
  ) => {
    const response = await fetch(`${issuerUrl}/oauth/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', authorization, ...headers },
      body: new URLSearchParams(parameters).toString(),
    });
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      text,
      body: text ? JSON.parse(text) : undefined,
    };
  };
  const inForm = { client_id: application.id, client_secret: clientSecret };
  const introspect = async (token: string, hint?: string) =>
    (await ask('introspect', { token, ...(hint ? { token_type_hint: hint } : {}) })).body;
  return { ...holder, application, ask, introspect, inForm };
}

describe('a client whose library sends its secret in the form', () => {
  it('introspects and revokes tokens', async () => {
    const { accessToken: token, context, inForm } = await prepare();
    const send = (path: string, more: object = {}) =>
      fetch(`${context.tenant.issuerUrl}/oauth/${path}`, {
        method: 'POST',
        body: new URLSearchParams({ token, ...inForm, ...more }),
      });
    expect(await (await send('introspect')).json()).toMatchObject({ active: true });
    expect((await send('introspect', { client_secret: 'wrong' })).status).toBe(401);
    expect((await send('revoke', { client_secret: 'wrong' })).status).toBe(401);
    expect((await send('revoke')).status).toBe(200);
    expect(await (await send('introspect')).json()).toEqual({ active: false });
  });
});

describe('introspection', () => {
  it('tells an access token’s claims, whatever its audience, to any application of the tenant', async () => {
    const { accessToken, introspect, ask } = await prepare();
    expect(await introspect(accessToken)).toEqual({
      active: true,
      token_type: 'Bearer',
      ...claimsOf(accessToken),
    });
    expect(await introspect(accessToken, 'refresh_token')).toMatchObject({ active: true });
    expect((await ask('introspect', { token: accessToken })).headers.get('cache-control')).toBe('no-store');
  });

  it('tells of a bound token which key it needs', async () => {
    const { context, agent, key, introspect } = await prepare();
    const bound = await issueFirst(rooms, context, { agentId: agent.id, keyId: key.id, jkt: 'thumbprint' });
    const cnf = { jkt: 'thumbprint' };
    expect(await introspect(bound.accessToken)).toMatchObject({ active: true, token_type: 'DPoP', cnf });
    expect(await introspect(bound.refreshToken)).toMatchObject({ active: true, cnf });
  });

  it('tells of a refresh token until it is spent', async () => {
    const { context, agent, refreshToken, introspect } = await prepare();
    const answer = await introspect(refreshToken, 'refresh_token');
    expect(answer).toMatchObject({
      active: true,
      sub: agent.id,
      client_id: 'service-agent',
      scope: 'email openid',
      tenant_id: context.tenant.id,
    });
    expect(answer.exp - answer.iat).toBe(3_600);
    const { refresh_token: next } = await refresh(rooms, context, refreshToken);
    expect(await introspect(refreshToken)).toEqual({ active: false });
    expect(await introspect(next)).toMatchObject({ active: true });
  });

  it.each<[string, (holder: Awaited<ReturnType<typeof prepare>>) => Promise<unknown>]>([
    ['its agent is suspended', ({ context, agent }) => rooms.agents.suspend(context, agent.id)],
    ['its agent is deleted', ({ context, agent }) => rooms.agents.remove(context, agent.id)],
    ['its key is revoked', ({ context, agent, key }) => rooms.keys.revoke(context, agent.id, key.id)],
  ])('tells nothing of either token when %s', async (_name, end) => {
    const holder = await prepare();
    await end(holder);
    for (const token of [holder.accessToken, holder.refreshToken])
      expect(await holder.introspect(token)).toEqual({ active: false });
  });

  it('tells nothing of another tenant’s tokens, of forged ones and of anything else', async () => {
    const { introspect, accessToken } = await prepare();
    const other = await prepare();
    const tokens = [
      other.accessToken,
      other.refreshToken,
      `${accessToken}x`,
      'x',
      'a.b.c',
      `.${'x'.repeat(9_000)}`,
    ];
    for (const token of tokens) expect(await introspect(token)).toEqual({ active: false });
  });

  it('and revocation need a client of the tenant, and a token', async () => {
    const { accessToken, ask } = await prepare();
    const { authorization } = await provisionTenant(server.accounts, `other-${process.pid}`);
    for (const path of ['introspect', 'revoke']) {
      const foreign = await ask(path, { token: accessToken }, { authorization });
      expect(foreign).toMatchObject({ status: 401, body: { error: 'invalid_client' } });
      expect(foreign.headers.get('www-authenticate')).toContain('Basic');
      const bearer = { authorization: `Bearer ${accessToken}` };
      expect((await ask(path, { token: accessToken }, bearer)).status).toBe(401);
      expect((await ask(path, {})).body.error).toBe('invalid_request');
    }
  });
});

describe('a client of an agent', () => {
  /** The client of an agent, and tokens of another agent of the tenant. */
  async function prepareLinked() {
    const given = await prepare();
    const owner = await createTestAgent(rooms, given.context);
    const { application, clientSecret } = await rooms.applications.create(given.context, {
      name: 'Linked',
      scopes: ['openid'],
      agentId: owner.agent.id,
    });
    const headers = { authorization: basic(application.id, clientSecret) };
    const as = async (path: string, token: string) => {
      const { status, body } = await given.ask(path, { token }, headers);
      return [status, body?.error ?? body?.active];
    };
    return { ...given, agentId: owner.agent.id, client: application, as };
  }

  it.each([
    ['suspended', 403, 'policy_denied'],
    ['deleted', 401, 'invalid_client'],
  ] as const)(
    'that is %s neither introspects nor revokes, which is on record',
    async (state, status, code) => {
      const { context, agentId, client, as, accessToken, refreshToken, introspect } = await prepareLinked();
      expect(await as('introspect', accessToken)).toEqual([200, true]);
      if (state === 'suspended') await rooms.agents.suspend(context, agentId);
      else await rooms.agents.remove(context, agentId);
      for (const token of [accessToken, refreshToken]) {
        for (const path of ['introspect', 'revoke']) expect(await as(path, token)).toEqual([status, code]);
        expect(await introspect(token)).toMatchObject({ active: true });
      }
      await rooms.accesses.settled();
      const refused = (await readAudit(test.database, context.tenant.id)).filter(
        ({ action }) => action === 'auth.access.refused',
      );
      expect(refused).toEqual([
        expect.objectContaining({
          actor_id: client.id,
          reason: code,
          data: { operation: 'introspectToken', count: 1 },
        }),
        expect.objectContaining({
          actor_id: client.id,
          reason: code,
          data: { operation: 'revokeToken', count: 1 },
        }),
      ]);
    },
  );

  it('may ask again when its agent is active again', async () => {
    const { context, agentId, as, accessToken } = await prepareLinked();
    await rooms.agents.suspend(context, agentId);
    await rooms.agents.reactivate(context, agentId);
    expect(await as('introspect', accessToken)).toEqual([200, true]);
    expect(await as('revoke', accessToken)).toEqual([200, undefined]);
  });
});

describe('a permission that the agent has lost', () => {
  it('is no part of what a refresh token still gets, and ends the access tokens that have it', async () => {
    const { context, agent, accessToken, refreshToken, introspect } = await prepare();
    await rooms.agents.update(context, agent.id, { name: 'Same reach' });
    expect(await introspect(accessToken)).toMatchObject({ active: true });
    await rooms.agents.update(context, agent.id, { scopes: ['openid'] });
    expect(await introspect(accessToken)).toEqual({ active: false });
    expect(await introspect(refreshToken)).toMatchObject({ active: true, scope: 'openid' });
    const next = await refresh(rooms, context, refreshToken);
    expect(await introspect(next.access_token)).toMatchObject({ active: true, scope: 'openid' });
  });

  it('does not admit the tokens of a suspended agent', async () => {
    const { context, agent, accessToken, key, introspect } = await prepare();
    await rooms.agents.suspend(context, agent.id);
    await rooms.agents.update(context, agent.id, { scopes: ['openid'] });
    const late = await issueFirst(rooms, context, { agentId: agent.id, keyId: key.id });
    for (const token of [accessToken, late.accessToken])
      expect(await introspect(token)).toEqual({ active: false });
  });
});

describe('revocation', () => {
  it('ends an access token alone, once, and tells of it', async () => {
    const { context, accessToken, tokenId, refreshToken, ask, introspect, application } = await prepare();
    for (let times = 0; times < 2; times += 1)
      expect(await ask('revoke', { token: accessToken })).toMatchObject({ status: 200, text: '' });
    expect(await introspect(accessToken)).toEqual({ active: false });
    expect(await introspect(refreshToken)).toMatchObject({ active: true });
    const events = (await readEvents(test.database, context.tenant.id)).filter(({ type }) =>
      type.endsWith('revoked'),
    );
    expect(events).toEqual([
      {
        type: 'auth.token.revoked',
        data: expect.objectContaining({ token_id: tokenId, revoked_by: application.id }),
      },
    ]);
    const audit = (await readAudit(test.database, context.tenant.id)).filter(
      ({ action }) => action === 'auth.token.revoked',
    );
    expect(audit).toHaveLength(1);
    expect(audit[0]).toMatchObject({
      actor_kind: 'application',
      actor_id: application.id,
      token_id: tokenId,
    });
  });

  it('ends with a refresh token all that came of the same authentication', async () => {
    const { context, accessToken, refreshToken, ask, introspect } = await prepare();
    const next = await refresh(rooms, context, refreshToken);
    expect((await ask('revoke', { token: next.refresh_token, token_type_hint: 'access_token' })).status).toBe(
      200,
    );
    for (const token of [accessToken, refreshToken, next.access_token, next.refresh_token])
      expect(await introspect(token)).toEqual({ active: false });
    expect((await ask('revoke', { token: refreshToken })).status).toBe(200);
    const events = (await readEvents(test.database, context.tenant.id)).filter(({ type }) =>
      type.endsWith('revoked'),
    );
    expect(events).toHaveLength(1);
  });

  it('answers 200 to a token that never was, and to another tenant’s, which lives on', async () => {
    const { ask } = await prepare();
    const other = await prepare();
    for (const token of ['x', 'a.b.c', other.accessToken, other.refreshToken])
      expect(await ask('revoke', { token })).toMatchObject({ status: 200, text: '' });
    for (const token of [other.accessToken, other.refreshToken])
      expect(await other.introspect(token)).toMatchObject({ active: true });
  });

  it('makes management routes answer token_revoked', async () => {
    const { context, application, ask } = await prepare();
    const grant = { audience: context.tenant.baseUrl, scopes: ['applications:read'] };
    const { accessToken } = await rooms.tokens.issueAccessToken(context.tenant, {
      ...grant,
      sub: application.id,
      clientId: application.id,
    });
    const url = `${context.tenant.baseUrl}/api/v1/applications`;
    expect((await server.send('GET', url, accessToken)).status).toBe(200);
    await ask('revoke', { token: accessToken });
    const refused = await server.send('GET', url, accessToken);
    expect(refused).toMatchObject({ status: 401, body: { error: 'token_revoked' } });
    expect(refused.headers.get('www-authenticate')).toContain('error="invalid_token"');
  });

  it('of an application’s tokens comes with its deletion', async () => {
    const { context, application, introspect: _, ...other } = await prepare();
    const grant = { audience: context.tenant.baseUrl, scopes: ['applications:read'] };
    const own = { sub: application.id, clientId: application.id };
    const { accessToken } = await rooms.tokens.issueAccessToken(context.tenant, { ...grant, ...own });
    await rooms.applications.remove(context, application.id);
    const url = `${context.tenant.baseUrl}/api/v1/applications`;
    expect((await server.send('GET', url, accessToken)).body.error).toBe('token_revoked');
    expect((await other.ask('introspect', { token: accessToken })).status).toBe(401);
  });
});
