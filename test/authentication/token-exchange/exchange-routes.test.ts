// Delegated tokens in use, by a client library of others: got with and without a key, introspected, and kept out of
// management.
import * as oauth from 'oauth4webapi';
import { describe, expect, it } from 'vitest';
import { ISSUED_TOKEN_TYPE, TOKEN_TYPES } from '../../../src/authentication/tokens/grant-types.ts';
import { TOKEN_EXCHANGE_GRANT } from '../../../src/identity/applications/application.ts';
import { readApplicationJwks } from '../../../src/identity/applications/application-jwks.ts';
import { readAudit } from '../../identity/agents/agent-rooms.ts';
import { claimsOf, codeOf } from '../tokens/refresh-fixture.ts';
import { ISSUER } from '../trusted-issuers/identity-provider.ts';
import { useExchange } from './exchange-fixture.ts';

const { test, server, world } = await useExchange();

const insecure = { [oauth.allowInsecureRequests]: true };

const url = new URL(world.tenant.issuerUrl);
const discovered = await oauth.discoveryRequest(url, { algorithm: 'oauth2', ...insecure });
const issuer = await oauth.processDiscoveryResponse(url, discovered);
const client: oauth.Client = { client_id: world.client.application.id };

/** A user who has delegated to a new actor. @param jkt the key that the actor's token is bound to */
async function newParties(jkt?: string) {
  const actor = await world.newActor(jkt === undefined ? {} : { jkt });
  const user = await world.newUser();
  await world.delegate(user, actor.agent.id);
  return { actor, user };
}

/** Exchanges by the library. */
async function exchange(
  { actor, user }: Awaited<ReturnType<typeof newParties>>,
  { DPoP, auth, clientId }: { DPoP?: oauth.DPoPHandle; auth?: oauth.ClientAuth; clientId?: string } = {},
) {
  const response = await oauth.genericTokenEndpointRequest(
    issuer,
    clientId === undefined ? client : { client_id: clientId },
    auth ?? oauth.ClientSecretBasic(world.client.clientSecret),
    TOKEN_EXCHANGE_GRANT,
    {
      subject_token: user.token,
      subject_token_type: TOKEN_TYPES.idToken,
      actor_token: actor.accessToken,
      actor_token_type: TOKEN_TYPES.accessToken,
      scope: 'openid',
    },
    { ...(DPoP === undefined ? {} : { DPoP }), ...insecure },
  );
  return oauth.processGenericTokenEndpointResponse(issuer, client, response);
}

const newHandle = async () => oauth.DPoP(client, await oauth.generateKeyPair('ES256'));

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
  it('finds the grant in the metadata, and exchanges tokens', async () => {
    expect(issuer.grant_types_supported).toContain(TOKEN_EXCHANGE_GRANT);
    const parties = await newParties();
    const result = await exchange(parties);
    expect(result).toMatchObject({
      token_type: 'bearer',
      issued_token_type: ISSUED_TOKEN_TYPE,
      scope: 'openid',
    });
    expect(result).not.toHaveProperty('refresh_token');
    const request = new Request(`${world.tenant.baseUrl}/x`, {
      headers: { authorization: `Bearer ${result.access_token}` },
    });
    const claims = await oauth.validateJwtAccessToken(issuer, request, world.tenant.audience, insecure);
    expect(claims).toMatchObject({ subject_type: 'agent', act: { sub: parties.actor.agent.id } });
  });

  it('needs the key of an actor whose token is bound to one, after a nonce round', async () => {
    const handle = await newHandle();
    const jkt = await handle.calculateThumbprint();
    const parties = await newParties(jkt);
    await expect(exchange(parties)).rejects.toMatchObject({ error: 'invalid_dpop_proof', status: 400 });
    const thief = await newHandle();
    await expect(withNonce(() => exchange(parties, { DPoP: thief }))).rejects.toMatchObject({
      error: 'invalid_dpop_proof',
    });
    const result = await withNonce(() => exchange(parties, { DPoP: handle }));
    expect(result.token_type).toBe('dpop');
    expect(claimsOf(result.access_token).cnf).toEqual({ jkt });
  });

  it('authenticates with a private key as well', async () => {
    const { publicKey, privateKey } = await oauth.generateKeyPair('ES256', { extractable: true });
    const { kty, crv, x, y } = await crypto.subtle.exportKey('jwk', publicKey);
    const jwks = readApplicationJwks({ keys: [{ kty, crv, x, y, kid: 'k' }] });
    const { application } = await world.newApplication({ jwks });
    const auth = oauth.PrivateKeyJwt({ key: privateKey, kid: 'k' });
    const result = await exchange(await newParties(), { clientId: application.id, auth });
    expect(claimsOf(result.access_token).client_id).toBe(application.id);
  });

  it('binds the token to the key of a proof that nothing demands, too', async () => {
    const handle = await newHandle();
    const parties = await newParties();
    const result = await withNonce(() => exchange(parties, { DPoP: handle }));
    expect(result.token_type).toBe('dpop');
    const cnf = { jkt: await handle.calculateThumbprint() };
    expect(await world.introspect(result.access_token)).toMatchObject({ token_type: 'DPoP', cnf });
  });
});

describe('a delegated token', () => {
  it('opens no management route, and is taken for neither the agent nor an application', async () => {
    const { actor, user } = await newParties();
    const { token } = await world.exchange(user.token, actor);
    for (const path of ['agents', `agents/${actor.agent.id}`, 'applications', 'tenant']) {
      const url = `${world.tenant.baseUrl}/api/v1/${path}`;
      const { status, body, headers } = await server.send('GET', url, token);
      expect([path, status, body.error]).toEqual([path, 403, 'insufficient_scope']);
      expect(body.detail).toContain('acts for somebody else');
      expect(headers.get('www-authenticate')).toContain('error="insufficient_scope"');
    }
    const self = await server.send('GET', `${world.tenant.issuerUrl}/auth/agent/self`, token);
    expect([self.status, self.body.error]).toEqual([403, 'insufficient_scope']);
    const { tokens } = world.rooms;
    expect(await codeOf(tokens.authenticate(world.tenant, token))).toBe('insufficient_scope');
    const principal = await tokens.authenticate(world.tenant, token, { delegated: true });
    expect(principal).toMatchObject({
      kind: 'agent',
      agentId: actor.agent.id,
      delegated: { subject: { iss: ISSUER, sub: user.sub }, act: { sub: actor.agent.id } },
    });
  });

  it('shows at userinfo whom it is about and who acts, and no name that could pass for the user’s', async () => {
    const { actor, user } = await newParties();
    const { token, claims } = await world.exchange(user.token, actor, { scope: 'openid' });
    const { status, body } = await server.send('GET', `${world.tenant.issuerUrl}/userinfo`, token);
    expect([status, body]).toEqual([
      200,
      {
        sub: claims.sub,
        subject_type: 'agent',
        tenant_id: world.tenant.id,
        delegated_subject: { iss: ISSUER, sub: user.sub },
        act: claims.act,
      },
    ]);
  });

  it('is introspected with everything that it says', async () => {
    const { actor, user } = await newParties();
    const { token, claims } = await world.exchange(user.token, actor);
    expect(await world.introspect(token)).toEqual({ active: true, token_type: 'Bearer', ...claims });
  });

  it('is revoked as the token of the agent that acts', async () => {
    const { actor, user } = await newParties();
    const { token, claims } = await world.exchange(user.token, actor);
    const revoked = await oauth.revocationRequest(
      issuer,
      client,
      oauth.ClientSecretBasic(world.client.clientSecret),
      token,
      insecure,
    );
    expect(await oauth.processRevocationResponse(revoked)).toBeUndefined();
    expect(await world.introspect(token)).toEqual({ active: false });
    expect(await world.introspect(actor.accessToken)).toMatchObject({ active: true });
    const entries = await readAudit(test.database, world.tenant.id);
    expect(entries.find(({ action }) => action === 'auth.token.revoked')).toMatchObject({
      target_type: 'agent',
      target_id: actor.agent.id,
      token_id: claims.jti,
    });
  });
});
