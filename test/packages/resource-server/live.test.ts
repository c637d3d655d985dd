// A resource server beside the whole service: tokens of agents are accepted, and refused soon after what ended them.
import * as oauth from 'oauth4webapi';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { followRevocations } from '../../../packages/resource-server/src/revocations.ts';
import { newKey } from '../../authentication/trusted-issuers/identity-provider.ts';
import { startTenants } from '../../isolation/tenants-server.ts';
import { PATIENCE } from '../../setup/patience.ts';
import { openForeignTransaction } from '../../webhooks/intake/foreign-transaction.ts';
import { AUDIENCE, createApplication, enrollAgent, manage, startResourceServer } from './live-service.ts';

const TYPE = 'urn:ietf:params:oauth:token-type';
const EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';

const tenants = await startTenants();
const { issuer_url: issuer, tenant_id: tenantId } = tenants.owner.credentials;
const application = await createApplication(tenants.owner, { scopes: ['webhooks:read'] });
const revocations = followRevocations({ issuer, credentials: application, intervalMs: 50 });
await revocations.ready();
const server = await startResourceServer(
  {
    issuer,
    audience: AUDIENCE,
    tenantId,
    revocations,
    introspection: { ...application, cacheSeconds: 0 },
  },
  {
    '/vault': { scope: 'vault:read', capability: 'orders:read' },
    '/wallet': { scope: 'wallet:sign' },
    '/as-user': { delegated: ({ actor, subject }) => actor !== subject },
  },
);
afterAll(async () => {
  await revocations.close();
  await server.close();
  await tenants.close();
});

/** Waits until the resource server refuses the token: the feed may wait for transactions of other test files. */
const refusal = (token: string, path?: string) =>
  vi.waitUntil(async () => {
    const outcome = await server.outcome(token, path);
    return outcome === 'accepted' ? undefined : outcome;
  }, PATIENCE);

describe('the token of an agent', () => {
  it('is accepted, with what it permits', async () => {
    const agent = await enrollAgent(tenants.owner);
    const token = await agent.authenticate();
    const { status, body } = await server.call(token, '/vault');
    expect([status, body]).toEqual([
      200,
      { subject: agent.id, actor: agent.id, capabilities: ['orders:read'] },
    ]);
    expect(await server.outcome(token, '/wallet')).toBe('403 insufficient_scope');
    expect(await server.outcome(token, '/as-user')).toBe('403 insufficient_scope');
  });

  it('is refused when it is of another tenant, or for another audience', async () => {
    const stranger = await enrollAgent(tenants.stranger);
    const other = await enrollAgent(tenants.owner, { audience: 'https://elsewhere.example' });
    expect(await server.outcome(await stranger.authenticate())).toBe('401 invalid_token');
    expect(await server.outcome(await other.authenticate())).toBe('401 invalid_token');
    expect(await server.outcome(tenants.owner.token)).toBe('401 invalid_token');
  });

  it('is refused after it was revoked, and no other of the agent', async () => {
    const agent = await enrollAgent(tenants.owner);
    const [one, two] = [await agent.authenticate(), await agent.authenticate()];
    expect(await server.outcome(one)).toBe('accepted');
    expect((await tenants.owner.post('/oauth/revoke', { token: one })).status).toBe(200);
    expect(await refusal(one)).toBe('401 token_revoked');
    expect(await server.outcome(two)).toBe('accepted');
  });

  it('is refused after the agent was suspended; a new one after its reactivation is accepted', async () => {
    const agent = await enrollAgent(tenants.owner);
    const token = await agent.authenticate();
    expect(await server.outcome(token)).toBe('accepted');
    await manage(tenants.owner, 'PATCH', `/api/v1/agents/${agent.id}/suspend`, {});
    expect(await refusal(token)).toBe('401 token_revoked');
    await manage(tenants.owner, 'PATCH', `/api/v1/agents/${agent.id}/reactivate`, {});
    const again = await agent.authenticate();
    await vi.waitUntil(async () => (await server.outcome(again)) === 'accepted', PATIENCE);
    expect(await server.outcome(token)).toBe('401 token_revoked');
  });

  it('is refused after the key was revoked by which it was got', async () => {
    const agent = await enrollAgent(tenants.owner);
    const token = await agent.authenticate();
    await manage(tenants.owner, 'POST', `/api/v1/agents/${agent.id}/keys/${agent.keyId}/revoke`, {});
    expect(await refusal(token)).toBe('401 token_revoked');
  });

  it('is known to have ended by a server that starts later', async () => {
    const agent = await enrollAgent(tenants.owner);
    const token = await agent.authenticate();
    await tenants.owner.post('/oauth/revoke', { token });
    expect(await refusal(token)).toBe('401 token_revoked');
    const { issuer_url: issuer } = tenants.owner.credentials;
    const later = followRevocations({ issuer, credentials: application, staleAfterSeconds: 3_600 });
    await later.ready();
    const fresh = await startResourceServer({ issuer, audience: AUDIENCE, revocations: later });
    expect(await fresh.outcome(token)).toBe('401 token_revoked');
    expect(await fresh.outcome(await agent.authenticate())).toBe('accepted');
    await Promise.all([fresh.close(), later.close()]);
  });
});

describe('while a transaction stays open in another database of the cluster', () => {
  it('a suspended agent is refused, and one that is active accepted, by the feed', async () => {
    const { issuer_url: issuer } = tenants.owner.credentials;
    const agent = await enrollAgent(tenants.owner);
    const token = await agent.authenticate();
    const follows = () => followRevocations({ issuer, credentials: application, intervalMs: 50 });
    const [one, two] = [follows(), follows()];
    const introspection = { ...application, cacheSeconds: 0 };
    const options = { issuer, audience: AUDIENCE };
    const asking = await startResourceServer({ ...options, revocations: one, introspection });
    const alone = await startResourceServer({ ...options, revocations: two });
    const outcomes = async () => Promise.all([asking, alone].map((each) => each.outcome(token)));
    const become = (...expected: string[]) =>
      vi.waitFor(async () => expect(await outcomes()).toEqual(expected), PATIENCE);
    try {
      await become('accepted', 'accepted');
      const close = await openForeignTransaction();
      try {
        await manage(tenants.owner, 'PATCH', `/api/v1/agents/${agent.id}/suspend`, {});
        await become('401 token_revoked', '401 token_revoked');
        expect([one, two].map((each) => each.status().failures)).toEqual([0, 0]);
      } finally {
        await close();
      }
      await manage(tenants.owner, 'PATCH', `/api/v1/agents/${agent.id}/reactivate`, {});
      const again = await agent.authenticate();
      await vi.waitUntil(async () => (await alone.outcome(again)) === 'accepted', PATIENCE);
    } finally {
      await Promise.all([asking.close(), alone.close(), one.close(), two.close()]);
    }
  });
});

describe('a guard with little memory', () => {
  it('judges others as before while one agent ends its own tokens', async () => {
    const { stranger } = tenants;
    const { issuer_url: issuer } = stranger.credentials;
    const credentials = await createApplication(stranger, { scopes: ['webhooks:read'] });
    const follows = followRevocations({ issuer, credentials, intervalMs: 50, limit: 4 });
    await follows.ready();
    const small = await startResourceServer({ issuer, audience: AUDIENCE, revocations: follows });
    const [agent, other] = [await enrollAgent(stranger), await enrollAgent(stranger)];
    const kept = await other.authenticate();
    for (let n = 0; n < 8; n += 1) {
      const token = await agent.authenticate();
      await stranger.post('/oauth/revoke', { token });
      await vi.waitUntil(async () => (await small.outcome(token)) !== 'accepted', PATIENCE);
      expect(await small.outcome(token)).toBe('401 token_revoked');
    }
    expect(await small.outcome(kept)).toBe('accepted');
    expect(follows.status().entries).toBeLessThan(4);
    await Promise.all([small.close(), follows.close()]);
  });
});

describe('introspection', () => {
  it('refuses a revoked token where no feed is followed', async () => {
    const { issuer_url: issuer } = tenants.owner.credentials;
    const introspection = { ...application, cacheSeconds: 0, use: 'always' } as const;
    const asking = await startResourceServer({ issuer, audience: AUDIENCE, introspection });
    const token = await (await enrollAgent(tenants.owner)).authenticate();
    expect(await asking.outcome(token)).toBe('accepted');
    await tenants.owner.post('/oauth/revoke', { token });
    expect(await asking.outcome(token)).toBe('401 token_revoked');
    await asking.close();
  });
});

describe('a token that is bound to a key', () => {
  it('is accepted with a proof of another library, once, and never as a plain bearer', async () => {
    const { id } = await enrollAgent(tenants.owner);
    const client = await createApplication(tenants.owner, {
      scopes: ['openid'],
      agent_id: id,
      audience: AUDIENCE,
    });
    const insecure = { [oauth.allowInsecureRequests]: true };
    const issuerUrl = new URL(tenants.owner.credentials.issuer_url);
    const discovered = await oauth.discoveryRequest(issuerUrl, { algorithm: 'oauth2', ...insecure });
    const issuer = await oauth.processDiscoveryResponse(issuerUrl, discovered);
    const party: oauth.Client = { client_id: client.clientId };
    const DPoP = oauth.DPoP(party, await oauth.generateKeyPair('ES256'));
    const auth = oauth.ClientSecretBasic(client.clientSecret);
    const ask = async () =>
      oauth.processClientCredentialsResponse(
        issuer,
        party,
        await oauth.clientCredentialsGrantRequest(issuer, party, auth, {}, { DPoP, ...insecure }),
      );
    const { access_token: token } = await ask().catch((error: unknown) => {
      if (oauth.isDPoPNonceError(error)) return ask();
      throw error;
    });
    const url = new URL(`${server.url}/orders?page=2`);
    let sent: Headers | undefined;
    const customFetch = (target: string, init: oauth.CustomFetchOptions<string, unknown>) => {
      sent = new Headers(init.headers);
      return fetch(target, { headers: sent });
    };
    const options = { DPoP, [oauth.customFetch]: customFetch, ...insecure };
    const accepted = await oauth.protectedResourceRequest(token, 'GET', url, undefined, null, options);
    expect(await accepted.json()).toMatchObject({ subject: id });
    const replayed = await fetch(url, { headers: sent ?? {} });
    expect([replayed.status, (await replayed.json()).error]).toEqual([401, 'invalid_dpop_proof']);
    expect(replayed.headers.get('www-authenticate')).toMatch(
      /^DPoP algs="ES256 .*error="invalid_dpop_proof"/,
    );
    expect(await server.outcome(token)).toBe('401 invalid_token');
  });
});

describe('a delegated token', () => {
  it('is accepted where both parties may, and ends with its delegation', async () => {
    const { owner } = tenants;
    const agent = await enrollAgent(owner);
    const provider = await newKey('ES256', 'users');
    const login = 'https://login.example.com';
    await manage(owner, 'POST', '/api/v1/trusted-issuers', {
      issuer: login,
      jwks: { keys: [provider.jwk] },
      audiences: [owner.credentials.base_url],
    });
    const gateway = await createApplication(owner, {
      scopes: ['openid', 'vault:read'],
      grant_types: [EXCHANGE],
    });
    const delegation = await manage(owner, 'POST', '/api/v1/delegations', {
      subject: { issuer: login, sub: 'ada' },
      agent_id: agent.id,
      scopes: ['openid', 'vault:read'],
      audience: AUDIENCE,
      expires_at: new Date(Date.now() + 3_600_000).toISOString(),
    });
    const basic = `Basic ${btoa(`${gateway.clientId}:${gateway.clientSecret}`)}`;
    const exchanged = await owner.post(
      '/oauth/token',
      {
        grant_type: EXCHANGE,
        subject_token: await provider.sign({ iss: login, sub: 'ada', aud: owner.credentials.base_url }),
        subject_token_type: `${TYPE}:id_token`,
        actor_token: await agent.authenticate(),
        actor_token_type: `${TYPE}:access_token`,
      },
      basic,
    );
    const token: string = exchanged.body.access_token;
    const { status, body } = await server.call(token, '/as-user');
    expect(status).toBe(200);
    expect(body).toMatchObject({
      actor: agent.id,
      user: { iss: login, sub: 'ada' },
      capabilities: ['orders:read'],
    });
    expect(body.subject).not.toBe(agent.id);
    expect(await server.outcome(token, '/vault')).toBe('403 insufficient_scope');
    await manage(owner, 'POST', `/api/v1/delegations/${delegation.id}/revoke`, {});
    expect(await refusal(token, '/as-user')).toBe('401 token_revoked');
  });
});
