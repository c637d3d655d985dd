// Who must prove the possession of a key: applications and agents by their metadata, everybody under the profile fapi2.
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { type JWTHeaderParameters, SignJWT } from 'jose';
import { beforeEach, describe, expect, it } from 'vitest';
import { readApplicationJwks } from '../../../src/identity/applications/application-jwks.ts';
import type { Tenant } from '../../../src/platform/context.ts';
import { createTestAgent } from '../../identity/agents/agent-rooms.ts';
import { answer, ask } from '../challenges/answer.ts';
import { basic, provisionTenant, requestTo } from './accounts.ts';
import { useAccountsServer } from './accounts-server.ts';
import { claimsOf, issueFirst } from './refresh-fixture.ts';

const { test, server } = await useAccountsServer();

const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

let tenant: Tenant;
let tenants = 0;
const newSlug = () => {
  tenants += 1;
  return `tenant-${tenants}`;
};
const client = generateKeyPairSync('rsa', { modulusLength: 2048 });
const proof = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const jwks = readApplicationJwks({ keys: [{ ...client.publicKey.export({ format: 'jwk' }) }] });

const { rooms } = server;

beforeEach(async () => {
  ({ tenant } = await provisionTenant(server.accounts, newSlug()));
});

const seconds = () => Math.floor(Date.now() / 1000);
const operator = () => requestTo(tenant);

async function setProfile(securityProfile: 'none' | 'fapi2') {
  await rooms.tenants.update(operator(), { securityProfile });
  const found = await rooms.tenants.bySlug(tenant.slug);
  if (found === undefined) throw new Error('no tenant');
  tenant = found;
}

const makeApplication = (more: object = {}) =>
  rooms.applications.create(operator(), {
    name: 'Client',
    scopes: ['openid', 'tenant:write'],
    jwks,
    ...more,
  });

/** A signed assertion of this client. */
const assert = (clientId: string, claims: object = {}, header: object = {}) =>
  new SignJWT({
    iss: clientId,
    sub: clientId,
    aud: tenant.issuerUrl,
    exp: seconds() + 60,
    jti: randomUUID(),
    ...claims,
  })
    .setProtectedHeader({ alg: 'PS256', ...header } as JWTHeaderParameters)
    .sign(client.privateKey);

const byKey = async (clientId: string, claims: object = {}, header: object = {}) => ({
  client_assertion_type: ASSERTION_TYPE,
  client_assertion: await assert(clientId, claims, header),
});

const prove = (url: string, nonce: string) =>
  new SignJWT({ htm: 'POST', htu: url, iat: seconds(), jti: randomUUID(), nonce })
    .setProtectedHeader({
      typ: 'dpop+jwt',
      alg: 'ES256',
      jwk: proof.publicKey.export({ format: 'jwk' }),
    } as JWTHeaderParameters)
    .sign(proof.privateKey);

type Sent = { path?: string; headers?: Record<string, string>; body: string; isProven?: boolean };

/** Posts to a path of the issuer, with a proof where asked, whose nonce comes from the service. */
async function post({ path = '/oauth/token', headers = {}, body, isProven = false }: Sent) {
  const url = `${tenant.issuerUrl}${path}`;
  const nonce = rooms.dpop.nonce(tenant);
  const dpop: Record<string, string> = isProven ? { dpop: await prove(url, nonce) } : {};
  const response = await fetch(url, { method: 'POST', headers: { ...headers, ...dpop }, body });
  return { status: response.status, nonce: response.headers.get('dpop-nonce'), body: await response.json() };
}

const form = (parameters: Record<string, string>, more: Omit<Sent, 'body'> = {}) =>
  post({
    ...more,
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...more.headers },
    body: new URLSearchParams(parameters).toString(),
  });

/** Asks for a token with the client's key. */
const request = async (clientId: string, isProven: boolean, more: Record<string, string> = {}) =>
  form({ grant_type: 'client_credentials', ...(await byKey(clientId)), ...more }, { isProven });

const NEEDS_PROOF = {
  status: 400,
  nonce: expect.stringMatching(/^[\w-]{24}$/),
  body: expect.objectContaining({
    error: 'invalid_dpop_proof',
    detail: expect.stringMatching(/^A DPoP proof is required/),
  }),
};

describe('dpop_bound_access_tokens', () => {
  it('of an application: no token without a proof, and a nonce for it; a bound one with it', async () => {
    const { application, clientSecret } = await makeApplication({ dpopBoundAccessTokens: true });
    const secret = { authorization: basic(application.id, clientSecret) };
    const credentials = { grant_type: 'client_credentials' };
    // Twice, because the second request is decided by what the process remembers of the client.
    for (const _ of [1, 2]) expect(await form(credentials, { headers: secret })).toEqual(NEEDS_PROOF);
    expect(await request(application.id, false)).toEqual(NEEDS_PROOF);
    const bound = await form(credentials, { headers: secret, isProven: true });
    expect(bound).toMatchObject({ status: 200, body: { token_type: 'DPoP' } });
    expect(claimsOf(bound.body.access_token).cnf).toEqual({ jkt: expect.any(String) });
    await rooms.clientRecords.settled();
    const { rows } = await test.database.query<{ reason: string }>(
      "SELECT reason FROM audit_log WHERE target_id = $1 AND action = 'auth.login.failure'",
      [application.id],
    );
    expect(new Set(rows.map(({ reason }) => reason))).toEqual(new Set(['invalid_dpop_proof']));
  });

  it('ends the earlier tokens of the application when it is set', async () => {
    const { application } = await makeApplication();
    const { body } = await request(application.id, false);
    const read = () => server.send('GET', `${tenant.baseUrl}/api/v1/tenant`, body.access_token);
    expect((await read()).status).toBe(200);
    await rooms.applications.update(operator(), application.id, { dpopBoundAccessTokens: true });
    expect((await read()).body.error).toBe('token_revoked');
    await rooms.applications.update(operator(), application.id, { dpopBoundAccessTokens: false });
    expect((await request(application.id, false)).status).toBe(200);
  });

  it('of an agent: holds for its key, its refresh tokens and its application', async () => {
    const { agent, key, ...holder } = await createTestAgent(rooms, operator());
    const { application } = await makeApplication({ agentId: agent.id, scopes: ['openid'] });
    const owner = { agentId: agent.id, keyId: key.id };
    const { refreshToken } = await issueFirst(rooms, operator(), owner);
    await rooms.agents.update(operator(), agent.id, { dpopBoundAccessTokens: true });

    expect(await request(application.id, false)).toEqual(NEEDS_PROOF);
    expect((await request(application.id, true)).body.token_type).toBe('DPoP');

    const refresh = { grant_type: 'refresh_token', refresh_token: refreshToken };
    expect(await form(refresh)).toEqual(NEEDS_PROOF);
    expect((await form(refresh, { isProven: true })).body.token_type).toBe('DPoP');

    const challenge = await ask(rooms, operator(), holder.fingerprint);
    const { challengeId: challenge_id, signature, algorithm } = answer(challenge, holder);
    const signed = {
      path: '/auth/agent/verify',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ challenge_id, signature, algorithm }),
    };
    // The challenge is not spent by the attempt without a proof.
    expect(await post(signed)).toEqual(NEEDS_PROOF);
    expect((await post({ ...signed, isProven: true })).body.token_type).toBe('DPoP');
  });

  it('is shown, and audited as a change', async () => {
    const { application } = await makeApplication();
    const { body } = await request(application.id, false, { scope: 'tenant:write' });
    const url = `${tenant.baseUrl}/api/v1/applications/${application.id}`;
    expect((await server.send('GET', url, body.access_token)).status).toBe(403);
    const got = await rooms.applications.update(operator(), application.id, { dpopBoundAccessTokens: true });
    expect(got.dpopBoundAccessTokens).toBe(true);
    const { rows } = await test.database.query<{ data: unknown }>(
      "SELECT data FROM audit_log WHERE target_id = $1 AND action = 'application.updated'",
      [application.id],
    );
    expect(rows).toEqual([{ data: expect.objectContaining({ fields: ['dpop_bound_access_tokens'] }) }]);
  });
});

describe('the security profile fapi2', () => {
  it('is refused while no application with a key could change the tenant', async () => {
    const set = () => rooms.tenants.update(operator(), { securityProfile: 'fapi2' });
    await expect(set()).rejects.toMatchObject({ code: 'conflict' });
    await makeApplication({ scopes: ['openid'] });
    await expect(set()).rejects.toMatchObject({ code: 'conflict' });
    await makeApplication();
    await expect(set()).resolves.toMatchObject({ securityProfile: 'fapi2' });
  });

  it('says in the metadata what is supported then', async () => {
    await makeApplication();
    const read = async () =>
      (await fetch(`${tenant.issuerUrl}/.well-known/oauth-authorization-server`)).json();
    expect((await read()).token_endpoint_auth_methods_supported).toContain('client_secret_basic');
    expect(await read()).toMatchObject({
      authorization_endpoint: `${tenant.issuerUrl}/oauth/authorize`,
      token_endpoint_auth_signing_alg_values_supported: ['ES256', 'EdDSA', 'Ed25519', 'PS256', 'RS256'],
    });
    await setProfile('fapi2');
    expect(await read()).not.toHaveProperty('authorization_endpoint');
    expect(await read()).toMatchObject({
      token_endpoint_auth_methods_supported: ['private_key_jwt', 'none'],
      introspection_endpoint_auth_methods_supported: ['private_key_jwt'],
      revocation_endpoint_auth_methods_supported: ['private_key_jwt'],
      token_endpoint_auth_signing_alg_values_supported: ['ES256', 'EdDSA', 'Ed25519', 'PS256'],
      dpop_signing_alg_values_supported: ['ES256', 'Ed25519', 'EdDSA', 'PS256'],
    });
  });

  it('refuses secrets at every endpoint that authenticates clients, and names the reason', async () => {
    const { application, clientSecret } = await makeApplication();
    const headers = { authorization: basic(application.id, clientSecret) };
    const grant = { grant_type: 'client_credentials' };
    expect((await form(grant, { headers })).status).toBe(200);
    await setProfile('fapi2');
    const refused = {
      status: 401,
      body: { error: 'invalid_client', detail: expect.stringContaining('security profile is fapi2') },
    };
    expect(await form(grant, { headers, isProven: true })).toMatchObject(refused);
    const inBody = { ...grant, client_id: application.id, client_secret: clientSecret };
    expect(await form(inBody, { isProven: true })).toMatchObject(refused);
    for (const path of ['/oauth/introspect', '/oauth/revoke']) {
      expect(await form({ token: 'x' }, { headers, path })).toMatchObject(refused);
      expect(await form({ token: 'x', ...inBody }, { path })).toMatchObject(refused);
    }
    const introspected = { token: 'x', ...(await byKey(application.id)) };
    expect(await form(introspected, { path: '/oauth/introspect' })).toMatchObject({
      body: { active: false },
    });
  });

  it('takes RS256 neither for an assertion nor as the only key of its managing application', async () => {
    const key = { ...client.publicKey.export({ format: 'jwk' }), alg: 'RS256' };
    const { application } = await makeApplication({ jwks: readApplicationJwks({ keys: [key] }) });
    const rs256 = async () => ({
      grant_type: 'client_credentials',
      ...(await byKey(application.id, {}, { alg: 'RS256' })),
    });
    expect((await form(await rs256())).status).toBe(200);
    await expect(rooms.tenants.update(operator(), { securityProfile: 'fapi2' })).rejects.toMatchObject({
      code: 'conflict',
    });
    await makeApplication();
    await setProfile('fapi2');
    expect(await form(await rs256(), { isProven: true })).toMatchObject({
      status: 401,
      body: { detail: 'The client assertion must be signed with one of ES256, EdDSA, Ed25519, PS256.' },
    });
  });

  it('requires a proof of applications and agents, whatever their metadata say', async () => {
    const { agent, key, ...holder } = await createTestAgent(rooms, operator());
    const { refreshToken } = await issueFirst(rooms, operator(), { agentId: agent.id, keyId: key.id });
    const { application } = await makeApplication();
    await setProfile('fapi2');
    expect(await request(application.id, false)).toEqual(NEEDS_PROOF);
    expect((await request(application.id, true)).body.token_type).toBe('DPoP');
    expect(await form({ grant_type: 'refresh_token', refresh_token: refreshToken })).toEqual(NEEDS_PROOF);
    const challenge = await ask(rooms, operator(), holder.fingerprint);
    await expect(rooms.challenges.verify(operator(), answer(challenge, holder))).rejects.toMatchObject({
      code: 'invalid_dpop_proof',
    });
  });

  it('refuses a token that is bound to no key, from before the profile too', async () => {
    const { application } = await makeApplication();
    const { body } = await request(application.id, false);
    const url = `${tenant.baseUrl}/api/v1/tenant`;
    expect((await server.send('GET', url, body.access_token)).status).toBe(200);
    await setProfile('fapi2');
    expect((await server.send('GET', url, body.access_token)).body).toMatchObject({ error: 'invalid_token' });
    const parameters = { token: body.access_token, ...(await byKey(application.id)) };
    expect((await form(parameters, { path: '/oauth/introspect' })).body).toEqual({ active: false });
  });

  it.each<[string, object, object]>([
    ['the issuer in a list', { aud: ['$issuer'] }, {}],
    ['the token endpoint', { aud: '$issuer/oauth/token' }, {}],
    ['a list with the token endpoint', { aud: ['$issuer', '$issuer/oauth/token'] }, {}],
    ['no audience', { aud: undefined }, {}],
    ['another type', {}, { typ: 'at+jwt' }],
  ])('refuses an assertion with %s', async (_name, claims, header) => {
    const { application } = await makeApplication();
    await setProfile('fapi2');
    const named = JSON.parse(JSON.stringify(claims).replaceAll('$issuer', tenant.issuerUrl));
    const changed = 'aud' in claims && claims.aud === undefined ? { aud: undefined } : named;
    const parameters = {
      grant_type: 'client_credentials',
      ...(await byKey(application.id, changed, header)),
    };
    expect(await form(parameters, { isProven: true })).toMatchObject({
      status: 401,
      body: { error: 'invalid_client' },
    });
  });

  it('takes an assertion with and without its explicit type', async () => {
    const { application } = await makeApplication();
    await setProfile('fapi2');
    for (const header of [{}, { typ: 'JWT' }, { typ: 'client-authentication+jwt' }]) {
      const parameters = { grant_type: 'client_credentials', ...(await byKey(application.id, {}, header)) };
      expect((await form(parameters, { isProven: true })).status).toBe(200);
    }
  });

  it('ends, and everything is as before', async () => {
    const { application, clientSecret } = await makeApplication();
    await setProfile('fapi2');
    await setProfile('none');
    const headers = { authorization: basic(application.id, clientSecret) };
    expect((await form({ grant_type: 'client_credentials' }, { headers })).body.token_type).toBe('Bearer');
    const { rows } = await test.database.query<{ data: { fields: string[] } }>(
      "SELECT data FROM audit_log WHERE tenant_id = $1 AND action = 'tenant.updated' ORDER BY id",
      [tenant.id],
    );
    expect(rows.map(({ data }) => data.fields)).toEqual([['security_profile'], ['security_profile']]);
  });

  it('of a new tenant needs a key for its first application', async () => {
    const provision = (more: object) =>
      rooms.provisioning.provision({ slug: newSlug(), securityProfile: 'fapi2', ...more });
    await expect(provision({})).rejects.toMatchObject({ code: 'invalid_request' });
    const made = await provision({ jwks });
    const found = await rooms.tenants.bySlug(made.slug);
    if (found === undefined) throw new Error('no tenant');
    tenant = found;
    expect((await request(made.client_id, true)).body.token_type).toBe('DPoP');
  });
});
