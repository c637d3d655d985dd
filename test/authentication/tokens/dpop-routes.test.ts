// Tokens bound to keys over HTTP, by a client library of others: issued with a nonce round, used at resources,
// refreshed, revoked.
import { exportJWK, SignJWT } from 'jose';
import * as oauth from 'oauth4webapi';
import { describe, expect, it } from 'vitest';
import { newId } from '../../../src/platform/database/ids.ts';
import { readAudit } from '../../identity/agents/agent-rooms.ts';
import { answer, ask } from '../challenges/answer.ts';
import { requestTo } from './accounts.ts';
import { useAccountsServer } from './accounts-server.ts';
import { claimsOf, createHolder, issueFirst, refresh } from './refresh-fixture.ts';

const { server } = await useAccountsServer();

const insecure = { [oauth.allowInsecureRequests]: true };

const { rooms } = server;

/** A tenant with an agent and an application, and the issuer as the library discovers it. */
async function prepare() {
  const holder = await createHolder(rooms);
  const { tenant } = holder.context;
  const scopes = ['agents:read', 'openid'] as const;
  const { application, clientSecret } = await rooms.applications.create(requestTo(holder.context.tenant), {
    name: 'Client',
    scopes,
  });
  const url = new URL(tenant.issuerUrl);
  const discovered = await oauth.discoveryRequest(url, { algorithm: 'oauth2', ...insecure });
  const issuer = await oauth.processDiscoveryResponse(url, discovered);
  const client: oauth.Client = { client_id: application.id };
  const agentClient: oauth.Client = { client_id: 'service-agent' };
  return { ...holder, tenant, application, clientSecret, issuer, client, agentClient };
}

/** Repeats a request once with the nonce that its first answer demands. */
async function withNonce<T>(request: () => Promise<T>): Promise<T> {
  const failure = await request().then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(oauth.isDPoPNonceError(failure)).toBe(true);
  return request();
}

describe('oauth4webapi', () => {
  it('refreshes, introspects and revokes an agent’s tokens', async () => {
    const { issuer, client, agentClient, clientSecret, refreshToken } = await prepare();
    const refreshed = await oauth.processRefreshTokenResponse(
      issuer,
      agentClient,
      await oauth.refreshTokenGrantRequest(issuer, agentClient, oauth.None(), refreshToken, insecure),
    );
    expect(refreshed).toMatchObject({ token_type: 'bearer', scope: 'email openid' });
    const auth = oauth.ClientSecretBasic(clientSecret);
    const introspect = async () =>
      oauth.processIntrospectionResponse(
        issuer,
        client,
        await oauth.introspectionRequest(issuer, client, auth, refreshed.access_token, insecure),
      );
    expect(await introspect()).toMatchObject({ active: true, client_id: 'service-agent' });
    const revoked = await oauth.revocationRequest(
      issuer,
      client,
      auth,
      refreshed.refresh_token ?? '',
      insecure,
    );
    expect(await oauth.processRevocationResponse(revoked)).toBeUndefined();
    expect(await introspect()).toEqual({ active: false });
  });

  it('authenticates with a private key', async () => {
    const { issuer, client, application, context } = await prepare();
    const { publicKey, privateKey } = await oauth.generateKeyPair('ES256', { extractable: true });
    const jwk = { ...(await crypto.subtle.exportKey('jwk', publicKey)), kid: 'k' };
    const { key_ops: _, ext: __, ...plain } = jwk;
    const url = `${context.tenant.baseUrl}/api/v1/applications/${application.id}`;
    const own = { sub: application.id, clientId: application.id, audience: context.tenant.baseUrl };
    const issue = (scopes: string[]) => rooms.tokens.issueAccessToken(context.tenant, { ...own, scopes });
    const lesser = await issue(['applications:write']);
    const refused = await server.send('PATCH', url, lesser.accessToken, { jwks: { keys: [plain] } });
    expect(refused).toMatchObject({ status: 403, body: { error: 'insufficient_scope' } });
    const admin = await issue(['applications:write', 'agents:read', 'openid']);
    const patched = await server.send('PATCH', url, admin.accessToken, { jwks: { keys: [plain] } });
    expect(patched.body.jwks.keys).toEqual([expect.objectContaining({ kid: 'k', alg: 'ES256' })]);
    const auth = oauth.PrivateKeyJwt({ key: privateKey, kid: 'k' });
    const response = await oauth.clientCredentialsGrantRequest(issuer, client, auth, {}, insecure);
    const result = await oauth.processClientCredentialsResponse(issuer, client, response);
    expect(result.scope).toBe('agents:read openid');
  });

  it('gets a bound token by client credentials, and uses it, each after a nonce round', async () => {
    const { issuer, client, clientSecret, tenant } = await prepare();
    const keys = await oauth.generateKeyPair('ES256');
    const handle = oauth.DPoP(client, keys);
    const auth = oauth.ClientSecretBasic(clientSecret);
    const options = { DPoP: handle, ...insecure };
    const token = await withNonce(async () =>
      oauth.processClientCredentialsResponse(
        issuer,
        client,
        await oauth.clientCredentialsGrantRequest(issuer, client, auth, {}, options),
      ),
    );
    expect(token.token_type).toBe('dpop');
    expect(claimsOf(token.access_token).cnf).toEqual({ jkt: await handle.calculateThumbprint() });
    const url = new URL(`${tenant.baseUrl}/api/v1/agents?limit=5`);
    const read = (DPoP: oauth.DPoPHandle) =>
      oauth.protectedResourceRequest(token.access_token, 'GET', url, undefined, null, { DPoP, ...insecure });
    const fresh = oauth.DPoP(client, keys);
    const response = await withNonce(() => read(fresh));
    expect(response.status).toBe(200);
    expect(response.headers.get('dpop-nonce')).toMatch(/^[\w-]{24}$/);
    const stolen = read(oauth.DPoP(client, await oauth.generateKeyPair('ES256')));
    await expect(stolen).rejects.toMatchObject({
      status: 401,
      cause: [{ scheme: 'dpop', parameters: { error: 'invalid_dpop_proof' } }],
    });
    const plain = await server.send('GET', url.href, token.access_token);
    expect(plain).toMatchObject({ status: 401, body: { error: 'invalid_token' } });
    const unproved = await fetch(url, { headers: { authorization: `DPoP ${token.access_token}` } });
    expect([unproved.status, (await unproved.json()).error]).toEqual([401, 'invalid_dpop_proof']);
    expect(unproved.headers.get('www-authenticate')).toMatch(/^DPoP .*error="invalid_dpop_proof"/);
    const bare = await fetch(url);
    expect(bare.headers.get('www-authenticate')).toMatch(/^Bearer .*, DPoP algs="ES256 /);
  });

  it('refreshes a bound token with its key only; another key neither gets it nor ends it', async () => {
    const { issuer, client, agentClient, agent, key, context } = await prepare();
    const handle = oauth.DPoP(client, await oauth.generateKeyPair('Ed25519'));
    const jkt = await handle.calculateThumbprint();
    const { refreshToken } = await issueFirst(rooms, context, {
      agentId: agent.id,
      keyId: key.id,
      jkt,
    });
    const exchange = async (DPoP: oauth.DPoPHandle | undefined, token: string) =>
      oauth.processRefreshTokenResponse(
        issuer,
        agentClient,
        await oauth.refreshTokenGrantRequest(issuer, agentClient, oauth.None(), token, {
          ...(DPoP === undefined ? {} : { DPoP }),
          ...insecure,
        }),
      );
    const first = await withNonce(() => exchange(handle, refreshToken));
    expect(first.token_type).toBe('dpop');
    expect(claimsOf(first.access_token).cnf).toEqual({ jkt });
    const thief = oauth.DPoP(client, await oauth.generateKeyPair('Ed25519'));
    await expect(withNonce(() => exchange(thief, refreshToken))).rejects.toMatchObject({
      error: 'invalid_dpop_proof',
    });
    await expect(exchange(undefined, refreshToken)).rejects.toMatchObject({ error: 'invalid_dpop_proof' });
    const form = `grant_type=refresh_token&refresh_token=${refreshToken}`;
    const bare = await server.requestToken(context.tenant.issuerUrl, form);
    expect([bare.status, bare.headers.get('dpop-nonce')]).toEqual([
      400,
      expect.stringMatching(/^[\w-]{24}$/),
    ]);
    expect((await exchange(handle, first.refresh_token ?? '')).token_type).toBe('dpop');
  });
});

describe('the verify route', () => {
  it('binds both tokens to the key of a proof, and asks for a nonce', async () => {
    const { context, tenant, client, ...holder } = await prepare();
    const keys = await oauth.generateKeyPair('ES256');
    const jkt = await oauth.DPoP(client, keys).calculateThumbprint();
    const challenge = await ask(rooms, context, holder.fingerprint);
    const { challengeId: challenge_id, signature, algorithm } = answer(challenge, holder);
    const url = `${tenant.issuerUrl}/auth/agent/verify`;
    const verify = async (nonce?: string) => {
      const proof = await signProof(keys, url, nonce);
      const body = JSON.stringify({ challenge_id, signature, algorithm });
      const headers = { 'content-type': 'application/json', dpop: proof };
      return fetch(url, { method: 'POST', headers, body });
    };
    const asked = await verify();
    expect([asked.status, (await asked.json()).error]).toEqual([400, 'use_dpop_nonce']);
    const response = await verify(asked.headers.get('dpop-nonce') ?? '');
    const tokens = await response.json();
    expect([response.status, tokens.token_type]).toEqual([200, 'DPoP']);
    expect(claimsOf(tokens.access_token).cnf).toEqual({ jkt });
    const issued = (await readAudit(rooms.database, context.tenant.id)).filter(
      ({ action }) => action === 'auth.token.issued',
    );
    expect(issued.at(-1)).toMatchObject({ data: { jkt, method: 'challenge_response' } });
    const failure = await refresh(rooms, context, tokens.refresh_token).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'invalid_dpop_proof' });
  });
});

describe('a proof beside an invented refresh token', () => {
  it('leaves no row', async () => {
    const { tenant } = await prepare();
    const keys = await oauth.generateKeyPair('ES256');
    const url = `${tenant.issuerUrl}/oauth/token`;
    const send = async (nonce?: string) => {
      const body = new URLSearchParams({ grant_type: 'refresh_token', refresh_token: 'invented' });
      return fetch(url, { method: 'POST', headers: { dpop: await signProof(keys, url, nonce) }, body });
    };
    const readUses = async () => (await rooms.database.query('SELECT FROM dpop_proofs')).rowCount;
    const before = await readUses();
    const asked = await send();
    expect((await asked.json()).error).toBe('use_dpop_nonce');
    const refused = await send(asked.headers.get('dpop-nonce') ?? '');
    expect([refused.status, (await refused.json()).error]).toEqual([400, 'invalid_grant']);
    expect(await readUses()).toBe(before);
  });
});

describe('a proof at the verify route', () => {
  it('is used by the challenge that it gets tokens for alone, and once', async () => {
    const { context, tenant, client: _, ...holder } = await prepare();
    const keys = await oauth.generateKeyPair('ES256');
    const url = `${tenant.issuerUrl}/auth/agent/verify`;
    const send = async (proof: string, body: object) => {
      const headers = { 'content-type': 'application/json', dpop: proof };
      const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
      return { status: response.status, error: (await response.json()).error, headers: response.headers };
    };
    const readUses = async () => (await rooms.database.query('SELECT FROM dpop_proofs')).rowCount;
    const newAnswer = async () => {
      const { challengeId: challenge_id, ...rest } = answer(
        await ask(rooms, context, holder.fingerprint),
        holder,
      );
      return { challenge_id, signature: rest.signature, algorithm: rest.algorithm };
    };
    const right = await newAnswer();
    const before = await readUses();
    const nonce = (await send(await signProof(keys, url, undefined), right)).headers.get('dpop-nonce') ?? '';
    const proof = await signProof(keys, url, nonce);
    const invented = await send(proof, { ...right, challenge_id: newId() });
    expect([invented.status, invented.error]).toEqual([400, 'invalid_grant']);
    const { signature } = await newAnswer();
    expect((await send(proof, { ...right, signature })).error).toBe('invalid_signature');
    expect(await readUses()).toBe(before);
    expect((await send(proof, right)).status).toBe(200);
    const again = await send(proof, await newAnswer());
    expect([again.status, again.error]).toEqual([400, 'invalid_dpop_proof']);
    expect(again.headers.get('dpop-nonce')).not.toBeNull();
    expect(await readUses()).toBe((before ?? 0) + 1);
  });
});

describe('userinfo', () => {
  it('tells whose an openid token is, whatever its audience', async () => {
    const { context, tenant, agent, accessToken, application } = await prepare();
    const url = `${tenant.issuerUrl}/userinfo`;
    const common = { subject_type: 'agent', tenant_id: tenant.id };
    const agentInfo = { name: 'Robot', agent: { name: 'Robot', capabilities: ['web', 'mcp'] } };
    expect(await server.send('GET', url, accessToken)).toMatchObject({
      status: 200,
      body: { ...common, sub: agent.id, ...agentInfo },
    });
    const issue = async (scopes: string[], audience = 'https://elsewhere.example') =>
      (
        await rooms.tokens.issueAccessToken(context.tenant, {
          sub: application.id,
          clientId: application.id,
          audience,
          scopes,
        })
      ).accessToken;
    const own = await server.send('GET', url, await issue(['openid']));
    expect(own.body).toEqual({ ...common, sub: application.id, name: 'Client' });
    const lacking = await server.send('GET', url, await issue(['email'], tenant.baseUrl));
    expect(lacking).toMatchObject({ status: 403, body: { error: 'insufficient_scope' } });
    await rooms.agents.suspend(context, agent.id);
    expect((await server.send('GET', url, accessToken)).body.error).toBe('token_revoked');
  });
});

/** A proof for a POST without an access token. */
async function signProof(keys: CryptoKeyPair, htu: string, nonce: string | undefined): Promise<string> {
  return new SignJWT({
    jti: crypto.randomUUID(),
    htm: 'POST',
    htu,
    ...(nonce === undefined ? {} : { nonce }),
  })
    .setProtectedHeader({ alg: 'ES256', typ: 'dpop+jwt', jwk: await exportJWK(keys.publicKey) })
    .setIssuedAt()
    .sign(keys.privateKey);
}
