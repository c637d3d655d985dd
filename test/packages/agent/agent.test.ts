// The client of an agent against the whole service: each form of key, tokens that renew themselves, DPoP, rotation,
// exchange.
import { createPrivateKey, createPublicKey, sign } from 'node:crypto';
import { afterAll, describe, expect, it } from 'vitest';
import { AgentError, createAgent, generateKey, type KeyInput } from '../../../packages/agent/src/index.ts';
import { secp256k1Signer } from '../../../packages/agent/src/secp256k1.ts';
import { newKey } from '../../authentication/trusted-issuers/identity-provider.ts';
import { startTenants } from '../../isolation/tenants-server.ts';
import { AUDIENCE, claimsOf, createRecorder, enrolledAgent, newAgent, newPem } from './live-agent.ts';

const service = await startTenants();
const issuer = service.owner.credentials.issuer_url;
afterAll(() => service.close());

/** As a key management service signs: by a callback, in DER. */
function managedKey(): KeyInput {
  const key = createPrivateKey(newPem('es256'));
  const { x = '', y = '' } = createPublicKey(key).export({ format: 'jwk' });
  return {
    algorithm: 'es256',
    publicKey: Buffer.concat([Buffer.from([4]), Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')]),
    sign: async (message) => sign('sha256', message, { key, dsaEncoding: 'der' }),
  };
}
const secret = () => crypto.getRandomValues(new Uint8Array(32));

describe('a key', () => {
  it.each<[string, () => KeyInput | Promise<KeyInput>]>([
    ['ed25519 in PEM', () => newPem()],
    ['es256 in PEM', () => newPem('es256')],
    ['a new one of ed25519', () => generateKey()],
    ['a new one of es256', () => generateKey('es256')],
    ['es256 behind a callback', managedKey],
    ['es256k', () => secp256k1Signer('es256k', secret())],
    ['bip340', () => secp256k1Signer('bip340', secret())],
  ])('%s enrolls, and answers challenges', async (_what, make) => {
    const { id, agent } = await enrolledAgent(service.owner, { key: await make() });
    const token = await agent.getToken();
    expect(claimsOf(token)).toMatchObject({ sub: id, client_id: 'service-agent', scope: 'openid' });
    expect(token).toMatchObject({ tokenType: 'Bearer', scope: 'openid' });
    expect(await agent.self()).toMatchObject({ id, tenant_id: service.owner.credentials.tenant_id });
  });

  it.each([
    ['no PEM', 'secret', /no PEM.*openssl pkcs8/],
    [
      'another PEM',
      '-----BEGIN EC PRIVATE KEY-----\nAA==\n-----END EC PRIVATE KEY-----',
      /BEGIN EC PRIVATE KEY/,
    ],
    ['broken', '-----BEGIN PRIVATE KEY-----\nAA==\n-----END PRIVATE KEY-----', /neither ed25519 nor es256/],
    ['a public JWK', { kty: 'OKP', crv: 'Ed25519', x: 'AAAA' }, /lacks d or x/],
    ['on secp256k1', { kty: 'EC', crv: 'secp256k1', x: 'AA', y: 'AA', d: 'AA' }, /agent\/secp256k1/],
    [
      'half',
      { algorithm: 'es256', publicKey: new Uint8Array(64), sign: () => new Uint8Array() },
      /65 raw bytes/,
    ],
  ] as const)('that is %s is refused in words', async (_what, key, message) => {
    const refused = createAgent({ issuer, key });
    await expect(refused).rejects.toThrow(AgentError);
    await expect(refused).rejects.toMatchObject({
      code: 'invalid_key',
      message: expect.stringMatching(message),
    });
  });
});

it('needs the address of its issuer, and says so', async () => {
  for (const wrong of [undefined as unknown as string, '', 'localhost'])
    await expect(createAgent({ issuer: wrong, key: newPem() })).rejects.toThrow('issuer: the issuer_url');
});

describe('a token', () => {
  it('is got once for each scope and resource, however many ask, in whatever order of scopes', async () => {
    const recorder = createRecorder();
    const { agent } = await enrolledAgent(service.owner, { fetch: recorder.fetch });
    recorder.forget();
    const [first, again] = await Promise.all([
      agent.getToken({ scope: 'openid vault:read' }),
      agent.getToken({ scope: 'vault:read  openid' }),
    ]);
    expect(again).toBe(first);
    expect(await agent.getToken({ scope: 'openid vault:read' })).toBe(first);
    expect(recorder.paths).toEqual(['/auth/agent/challenge', '/auth/agent/verify']);
    const other = await agent.getToken({ scope: 'vault:read', resource: AUDIENCE });
    expect(claimsOf(other)).toMatchObject({ aud: AUDIENCE, scope: 'vault:read' });
    expect(recorder.paths).toHaveLength(4);
  });

  it('is renewed ahead of its end by its refresh token, and by a challenge where that is refused', async () => {
    let passed = 0;
    const recorder = createRecorder();
    const now = () => Date.now() + passed;
    const { agent } = await enrolledAgent(service.owner, { fetch: recorder.fetch, now });
    const first = await agent.getToken();
    const life = first.expiresAt.getTime() - Date.now();
    recorder.forget();
    passed += life * 0.7;
    expect(await agent.getToken()).toBe(first);
    passed += life * 0.2;
    const second = await agent.getToken();
    expect(second.accessToken).not.toBe(first.accessToken);
    expect(recorder.paths).toEqual(['/oauth/token']);
    // Somebody has used the refresh token: the family ends.
    await service.database.query('DELETE FROM refresh_tokens');
    passed += life;
    expect((await agent.getToken()).accessToken).not.toBe(second.accessToken);
    expect(recorder.paths.slice(1)).toEqual(['/oauth/token', '/auth/agent/challenge', '/auth/agent/verify']);
  });

  it('is used on while it lives when the service cannot renew it', async () => {
    let passed = 0;
    let isAway = false;
    const recorder = createRecorder(() => (isAway ? new Response('{}', { status: 500 }) : undefined));
    const now = () => Date.now() + passed;
    const { agent } = await enrolledAgent(service.owner, { fetch: recorder.fetch, now });
    const token = await agent.getToken();
    const life = token.expiresAt.getTime() - Date.now();
    isAway = true;
    passed += life * 0.9;
    expect(await agent.getToken()).toBe(token);
    passed += life * 0.2;
    await expect(agent.getToken()).rejects.toMatchObject({ status: 500 });
    isAway = false;
    expect((await agent.getToken()).accessToken).not.toBe(token.accessToken);
  });

  it('that is refused says the code of the service', async () => {
    const { agent } = await enrolledAgent(service.owner);
    const refused = agent.getToken({ scope: 'openid wallet:sign' });
    await expect(refused).rejects.toMatchObject({ name: 'AgentError', code: 'invalid_scope', status: 400 });
    await expect(agent.getToken({ resource: 'https://other.example' })).rejects.toMatchObject({
      code: 'invalid_target',
    });
    const stranger = await createAgent({ issuer, key: newPem() });
    const unknown = await stranger.getToken().catch((error: unknown) => error);
    expect(unknown).toBeInstanceOf(AgentError);
    expect((unknown as AgentError).requestId).toMatch(/./);
  });
});

describe('a token that is bound to a key', () => {
  it.each<[string, () => Promise<true | KeyInput>]>([
    ['of its own', async () => true],
    ['of ed25519', async () => newPem()],
  ])('%s comes with a proof, and is sent with one', async (_what, dpop) => {
    const recorder = createRecorder();
    const options = { dpop: await dpop(), fetch: recorder.fetch };
    const { id, agent } = await enrolledAgent(service.owner, options, { dpop_bound_access_tokens: true });
    recorder.forget();
    const token = await agent.getToken();
    expect(token.tokenType).toBe('DPoP');
    expect(claimsOf(token).cnf.jkt).toMatch(/^[\w-]{43}$/);
    // The first proof lacks the nonce; the service asks for it once.
    expect(recorder.paths).toEqual(['/auth/agent/challenge', '/auth/agent/verify', '/auth/agent/verify']);
    const answer = await agent.fetch(`${issuer}/auth/agent/self`);
    expect([answer.status, (await answer.json()).id]).toEqual([200, id]);
    expect(recorder.paths).toHaveLength(4);
  });
});

describe('an agent whose clock is off', () => {
  it.each([-3_600_000, 3_600_000])('by %d ms proves its key by the clock of the service', async (off) => {
    const options = { dpop: true as const, now: () => Date.now() + off };
    const { id, agent } = await enrolledAgent(service.owner, options, { dpop_bound_access_tokens: true });
    const answer = await agent.fetch(`${issuer}/auth/agent/self`);
    expect([answer.status, (await answer.json()).id]).toEqual([200, id]);
  });

  it('learns the time of another server from its refusal, and tries once more', async () => {
    const times: number[] = [];
    const fetched: typeof fetch = async (input, init) => {
      const request = new Request(input, init);
      if (!request.url.startsWith(AUDIENCE)) return fetch(request);
      const [, payload = ''] = (request.headers.get('dpop') ?? '').split('.');
      times.push(JSON.parse(Buffer.from(payload, 'base64url').toString()).iat);
      const headers = {
        date: new Date(Date.UTC(2030, 0, 1)).toUTCString(),
        'www-authenticate': 'DPoP error="invalid_dpop_proof"',
      };
      return new Response('{}', { status: 401, headers });
    };
    const { agent } = await enrolledAgent(service.owner, { dpop: true, fetch: fetched });
    expect((await agent.fetch(`${AUDIENCE}/items`)).status).toBe(401);
    expect(times).toHaveLength(2);
    expect(Math.abs((times[1] ?? 0) - Date.UTC(2030, 0, 1) / 1000)).toBeLessThan(60);
  });
});

describe('fetch', () => {
  const self = () => `${issuer}/auth/agent/self`;

  it('gets another token once when its own has ended', async () => {
    const recorder = createRecorder();
    const { id, agent } = await enrolledAgent(service.owner, { fetch: recorder.fetch });
    const first = await agent.getToken();
    await service.owner.post('/oauth/revoke', { token: first.accessToken });
    recorder.forget();
    const answer = await agent.fetch(self());
    expect([answer.status, (await answer.json()).id]).toEqual([200, id]);
    expect(recorder.paths.filter((path) => path === '/auth/agent/self')).toHaveLength(2);
    expect((await agent.getToken()).accessToken).not.toBe(first.accessToken);
  });

  it('sends a body again, asks for a nonce once, and hands on an answer that stays 401', async () => {
    const bodies: string[] = [];
    const server = async (request: Request) => {
      bodies.push(await request.text());
      const nonce = { 'www-authenticate': 'DPoP error="use_dpop_nonce"', 'dpop-nonce': 'n-1' };
      return new Response('{"error":"token_expired"}', {
        status: 401,
        headers: bodies.length === 1 ? nonce : { 'content-type': 'application/problem+json' },
      });
    };
    const fetched: typeof fetch = async (input, init) => {
      const request = new Request(input, init);
      return request.url.startsWith(AUDIENCE) ? server(request) : fetch(request);
    };
    const { agent } = await enrolledAgent(service.owner, { dpop: true, fetch: fetched });
    const answer = await agent.fetch(`${AUDIENCE}/items`, { method: 'POST', body: 'an item' });
    expect([answer.status, await answer.json()]).toEqual([401, { error: 'token_expired' }]);
    // The first, the one with the nonce, the one with a new token.
    expect(bodies).toEqual(['an item', 'an item', 'an item']);
  });
});

describe('a rotation', () => {
  it('saves the new key once it is registered, and goes on with it', async () => {
    const saved: KeyInput[] = [];
    const { id, agent } = await enrolledAgent(service.owner);
    const before = agent.fingerprint;
    await agent.getToken();
    const rotation = await agent.rotateKey({ save: (key) => void saved.push(key), overlapSeconds: 3600 });
    expect(agent.fingerprint).toBe(rotation.fingerprint);
    expect(agent.fingerprint).not.toBe(before);
    const { body } = await service.owner.send(
      'GET',
      `/api/v1/agents/${id}/keys/rotations/${rotation.rotationId}`,
    );
    expect(body).toMatchObject({
      new_key_id: rotation.newKeyId,
      overlap_seconds: 3600,
    });
    expect(await agent.self()).toMatchObject({ authenticated_key_id: rotation.newKeyId });
    const [key] = saved;
    if (key === undefined) throw new Error('nothing was saved');
    const restarted = await createAgent({ issuer, key });
    expect(claimsOf(await restarted.getToken()).sub).toBe(id);
  });

  it('that is refused leaves the agent its key, and saves nothing', async () => {
    const saved: unknown[] = [];
    const key = newPem();
    const { agent } = await enrolledAgent(service.owner, { key });
    const before = agent.fingerprint;
    const refused = agent.rotateKey({ key });
    await expect(refused).rejects.toMatchObject({ code: 'key_exists' });
    const away = createRecorder((url) => (url.pathname.endsWith('/rotate') ? Response.error() : undefined));
    const lonely = await createAgent({ issuer, key, fetch: away.fetch, maxWaitSeconds: 0 });
    await expect(lonely.rotateKey({ save: (made) => void saved.push(made) })).rejects.toThrow(AgentError);
    expect([agent.fingerprint, lonely.fingerprint, saved]).toEqual([before, before, []]);
    expect((await agent.getToken()).tokenType).toBe('Bearer');
  });
});

it('an exchange lets the agent act for a user', async () => {
  const { owner } = service;
  const { id, agent } = await enrolledAgent(owner);
  const users = await newKey();
  const provider = 'https://login.package.example';
  await owner.send('POST', '/api/v1/trusted-issuers', {
    ...{ issuer: provider, audiences: [issuer], jwks: { keys: [users.jwk] } },
  });
  const { body: application } = await owner.send('POST', '/api/v1/applications', {
    ...{ name: 'gateway', scopes: ['openid', 'vault:read'] },
    grant_types: ['urn:ietf:params:oauth:grant-type:token-exchange'],
  });
  await owner.send('POST', '/api/v1/delegations', {
    ...{ subject: { issuer: provider, sub: 'ada' }, agent_id: id, scopes: ['openid'] },
    expires_at: new Date(Date.now() + 3_600_000).toISOString(),
  });
  const userToken = await users.sign({ sub: 'ada', iss: provider, aud: issuer });
  const { client_id: clientId, client_secret: clientSecret } = application;
  const token = await agent.exchange(userToken, { clientId, clientSecret, subjectTokenType: 'jwt' });
  expect(claimsOf(token)).toMatchObject({
    act: { sub: id },
    delegated_subject: { sub: 'ada' },
    scope: 'openid',
  });
});

it('knows nothing of an agent before a token is needed', async () => {
  const recorder = createRecorder();
  await createAgent({ issuer, key: newPem(), fetch: recorder.fetch });
  expect(recorder.paths).toEqual([]);
  expect(await newAgent(service.owner)).toMatch(/^[0-9a-f-]{36}$/);
});
