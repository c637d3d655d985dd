// What an agent reads about itself, over HTTP: with its own tokens of every kind, and to nobody else.
import * as oauth from 'oauth4webapi';
import { describe, expect, it } from 'vitest';
import { answer, ask } from '../../authentication/challenges/answer.ts';
import { useAccountsServer } from '../../authentication/tokens/accounts-server.ts';
import { createHolder, issueFirst, refresh } from '../../authentication/tokens/refresh-fixture.ts';
import { createTestTenant } from './agent-rooms.ts';

const { server } = await useAccountsServer();

const insecure = { [oauth.allowInsecureRequests]: true };

const { rooms } = server;

/** An agent with tokens of a real authentication. */
async function prepare() {
  const holder = await createHolder(rooms);
  const challenge = await ask(rooms, holder.context, holder.fingerprint, 'vault:read');
  const granted = await rooms.challenges.verify(holder.context, answer(challenge, holder));
  const url = `${holder.context.tenant.issuerUrl}/auth/agent/self`;
  const read = (token: string | undefined) => server.send('GET', url, token);
  return { ...holder, ...granted, url, read };
}

describe('an agent', () => {
  it('reads itself with its token: what management reads, its keys, and the key that it used', async () => {
    const { context, agent, key, accessToken, read } = await prepare();
    await rooms.agents.update(context, agent.id, { metadata: { risk: 'high' } });
    const self = await read(accessToken);
    expect(self.status).toBe(200);
    expect(self.headers.get('cache-control')).toBe('no-store');
    expect(self.body).toEqual({
      id: agent.id,
      tenant_id: context.tenant.id,
      name: 'Robot',
      description: null,
      capabilities: ['web', 'mcp'],
      status: 'active',
      audience: context.tenant.audience,
      audiences: [],
      dpop_bound_access_tokens: false,
      scopes: expect.arrayContaining(['openid']),
      created_at: agent.createdAt.toISOString(),
      updated_at: expect.any(String),
      registration: expect.objectContaining({ active: true, verified: true }),
      keys: [expect.objectContaining({ key_id: key.id, state: 'active', fingerprint: key.fingerprint })],
      authenticated_key_id: key.id,
    });
  });

  it('sees which key it used among several, after a refresh too, and none that is revoked', async () => {
    const { context, agent, key, refreshToken, read, ...signer } = await prepare();
    const { accessToken: other } = await prepare();
    const add = (n: number) =>
      rooms.keys.register(context, agent.id, {
        algorithm: 'ed25519',
        publicKey: { kty: 'OKP', crv: 'Ed25519', x: KEYS[n] ?? '' },
      });
    const [second, third] = [await add(0), await add(1)];
    await rooms.keys.revoke(context, agent.id, second.id);
    await rooms.keys.deprecate(context, agent.id, third.id, { sunsetAfterSeconds: 60 });
    const { access_token: refreshed } = await refresh(rooms, context, refreshToken);
    const { body } = await read(refreshed);
    expect(body.authenticated_key_id).toBe(key.id);
    expect(body.keys.map((one: { key_id: string; state: string }) => [one.key_id, one.state])).toEqual([
      [third.id, 'deprecated'],
      [key.id, 'active'],
    ]);
    const challenge = await ask(rooms, context, key.fingerprint);
    const again = await rooms.challenges.verify(context, answer(challenge, signer));
    expect((await read(again.accessToken)).body.authenticated_key_id).toBe(key.id);
    expect((await read(other)).status).toBe(401);
  });

  it('may hold a token for any of its audiences, and of any scope', async () => {
    const { context, agent, read } = await prepare();
    const grant = { sub: agent.id, audience: 'https://elsewhere.example', clientId: 'service-agent' };
    const token = await rooms.tokens.issueAccessToken(context.tenant, { ...grant, scopes: ['email'] });
    expect((await read(token.accessToken)).body).toMatchObject({ id: agent.id, authenticated_key_id: null });
  });

  it('may come by the application that is linked to it, with no key', async () => {
    const { context, agent, read } = await prepare();
    const { application } = await rooms.applications.create(
      { ...context, principal: undefined },
      { name: 'Client', scopes: ['openid'], agentId: agent.id },
    );
    const grant = { sub: agent.id, audience: context.tenant.audience, clientId: application.id };
    const token = await rooms.tokens.issueAccessToken(context.tenant, { ...grant, scopes: ['openid'] });
    expect((await read(token.accessToken)).body).toMatchObject({ id: agent.id, authenticated_key_id: null });
  });

  it('needs the proof of the key that its token is bound to', async () => {
    const { context, agent, key, url, read } = await prepare();
    const client: oauth.Client = { client_id: 'service-agent' };
    const DPoP = oauth.DPoP(client, await oauth.generateKeyPair('ES256'));
    const jkt = await DPoP.calculateThumbprint();
    const owner = { agentId: agent.id, keyId: key.id, jkt };
    const { accessToken } = await issueFirst(rooms, context, owner);
    expect((await read(accessToken)).body.error).toBe('invalid_token');
    const request = () =>
      oauth.protectedResourceRequest(accessToken, 'GET', new URL(url), undefined, null, {
        DPoP,
        ...insecure,
      });
    await expect(request()).rejects.toSatisfy(oauth.isDPoPNonceError);
    expect(await (await request()).json()).toMatchObject({ id: agent.id, authenticated_key_id: key.id });
  });

  it('is refused once it is suspended or deleted', async () => {
    const { context, agent, accessToken, read } = await prepare();
    await rooms.agents.suspend(context, agent.id);
    expect(await read(accessToken)).toMatchObject({ status: 401, body: { error: 'token_revoked' } });
    await rooms.agents.remove(context, agent.id);
    expect(await read(accessToken)).toMatchObject({ status: 401, body: { error: 'token_revoked' } });
  });
});

describe('nobody else', () => {
  it('is let in: no token, another tenant’s, a management application’s, one of a subject that is no agent', async () => {
    const { context, read } = await prepare();
    const stranger = await createTestTenant(rooms);
    const issue = async (tenant: typeof context.tenant, sub: string, clientId: string) => {
      const grant = { sub, clientId, audience: tenant.baseUrl, scopes: ['agents:read', 'openid'] };
      return (await rooms.tokens.issueAccessToken(tenant, grant)).accessToken;
    };
    const id = context.principal?.subject ?? '';
    const absent = await read(undefined);
    expect([absent.status, absent.headers.get('www-authenticate')]).toEqual([
      401,
      expect.stringMatching(/^Bearer .*, DPoP /),
    ]);
    const foreign = await read(await issue(stranger.tenant, id, 'service-agent'));
    expect([foreign.status, foreign.body.error]).toEqual([401, 'invalid_token']);
    for (const clientId of [id, 'service-agent']) {
      const refused = await read(await issue(context.tenant, id, clientId));
      expect([refused.status, refused.body.error]).toEqual([403, 'insufficient_scope']);
      expect(refused.headers.get('www-authenticate')).toMatch(/^Bearer .*error="insufficient_scope"$/);
    }
  });
});

/** Public keys, `x` of a JWK. */
const KEYS = ['11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo', 'PUAXw-hDiVqStwqnTRt-vJyYLM8uxJaMwM1V8Sr0Zgw'];
