// The whole main job over HTTP: agent, key, challenge, verify, as a client sees them: statuses, headers, exact fields.
import { afterAll, describe, expect, it } from 'vitest';
import { buildPayloadOfResponse, type ChallengeResponse } from '../../../packages/agent/src/payloads.ts';
import { KEY_ALGORITHMS, type KeyAlgorithm } from '../../../src/platform/crypto/algorithm.ts';
import { fingerprint, toJwk } from '../../../src/platform/crypto/public-key.ts';
import { newId } from '../../../src/platform/database/ids.ts';
import { createRooms } from '../../identity/agents/agent-rooms.ts';
import { derivePublicKey, generatePrivateKey, signPayload } from '../../platform/crypto/sign.ts';
import { startTestServer, tokenFor } from '../../platform/http/test-server.ts';
import { useTestDatabase } from '../../setup/database.ts';

const { database } = await useTestDatabase();
const rooms = createRooms(database, { failuresAllowed: 5 });
await rooms.tenants.create({ slug: 'demo' });
const server = await startTestServer(rooms.routes, { database, tenants: rooms.tenants });
afterAll(() => server.drain(0));

const admin = {
  authorization: `Bearer ${tokenFor('admin', 'agents:read', 'agents:write', 'agents:capabilities', 'agents:impersonate')}`,
};
const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
  server.send('POST', path, body, headers);

async function register(algorithm: KeyAlgorithm = 'ed25519') {
  const privateKey = generatePrivateKey(algorithm);
  const publicKey = derivePublicKey(algorithm, privateKey);
  const agent = await post('/api/v1/agents', { name: 'Robot', capabilities: ['web'] }, admin);
  const key = await post(
    `/api/v1/agents/${agent.body.id}/keys`,
    { algorithm, public_key: toJwk(publicKey), label: 'laptop' },
    admin,
  );
  return { agent, key, algorithm, privateKey, publicKey };
}
type Registered = Awaited<ReturnType<typeof register>>;

const challengeFor = ({ key }: Registered, scope = 'openid') =>
  post('/auth/agent/challenge', { key_fingerprint: key.body.fingerprint, scope });
const sign = (
  { algorithm, privateKey }: Pick<Registered, 'algorithm' | 'privateKey'>,
  response: ChallengeResponse,
) => signPayload(algorithm, privateKey, buildPayloadOfResponse(response));

describe.each(KEY_ALGORITHMS)('with a key of %s', (algorithm) => {
  it('an agent is created, gets a key, signs a challenge and gets tokens', async () => {
    const registered = await register(algorithm);
    const { agent, key, publicKey } = registered;
    expect(agent.status).toBe(201);
    expect(agent.headers.get('location')).toBe(`http://localhost:8080/api/v1/agents/${agent.body.id}`);
    expect(key.status).toBe(201);
    expect(key.headers.get('location')).toMatch(
      new RegExp(`/agents/${agent.body.id}/keys/${key.body.key_id}$`),
    );
    expect(key.body).toEqual({
      id: expect.any(String),
      key_id: expect.any(String),
      agent_id: agent.body.id,
      algorithm,
      fingerprint: fingerprint(publicKey.raw),
      jwk_thumbprint: expect.stringMatching(/^[\w-]{43}$/),
      public_key: toJwk(publicKey),
      label: 'laptop',
      state: 'active',
      verified_at: null,
      sunset_at: null,
      last_used_at: null,
      created_at: expect.any(String),
    });
    const challenge = await challengeFor(registered);
    expect(challenge.status).toBe(200);
    expect(challenge.headers.get('cache-control')).toBe('no-store');
    expect(challenge.headers.has('warning')).toBe(false);
    expect(challenge.body).toEqual({
      id: expect.any(String),
      challenge_id: expect.any(String),
      nonce: expect.stringMatching(/^[0-9a-f]{64}$/),
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.000)?Z$/),
      expires_at: expect.stringMatching(/Z$/),
      audience: 'http://localhost:8080',
      client_id: 'service-agent',
      scope_hash: 'a780fc8d532ce48dc62ac7d2027bf9b07f036b7f5ec1824a882d89c35d183887',
      key_fingerprint: key.body.fingerprint,
      algorithm,
    });
    const input = {
      challenge_id: challenge.body.challenge_id,
      signature: sign(registered, challenge.body),
      algorithm,
    };
    const granted = await post('/auth/agent/verify', input);
    expect(granted.status).toBe(200);
    expect(granted.headers.get('cache-control')).toBe('no-store');
    expect(granted.body).toEqual({
      access_token: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/),
      refresh_token: expect.any(String),
      token_type: 'Bearer',
      expires_in: 300,
      scope: 'openid',
    });
    const again = await post('/auth/agent/verify', input);
    expect([again.status, again.body.error]).toEqual([400, 'challenge_used']);
  });
});

describe('the failures of both routes', () => {
  const fingerprintOfNobody = 'ab'.repeat(32);

  it.each([
    ['no body', undefined, 400, 'invalid_request'],
    ['a missing scope', { key_fingerprint: fingerprintOfNobody }, 400, 'invalid_request'],
    [
      'a scope that is no text',
      { key_fingerprint: fingerprintOfNobody, scope: ['openid'] },
      400,
      'invalid_request',
    ],
    ['a fingerprint that is too short', { key_fingerprint: 'ab', scope: 'openid' }, 400, 'invalid_request'],
    [
      'an unknown field',
      { key_fingerprint: fingerprintOfNobody, scope: 'openid', x: 1 },
      400,
      'invalid_request',
    ],
    [
      'an unknown fingerprint',
      { key_fingerprint: fingerprintOfNobody, scope: 'openid' },
      404,
      'key_not_found',
    ],
  ])('a challenge request with %s', async (_, body, status, error) => {
    const answer = await post('/auth/agent/challenge', body);
    expect([answer.status, answer.body.error]).toEqual([status, error]);
    expect(answer.headers.get('cache-control')).toBe('no-store');
  });

  it('says where a fingerprint is found', async () => {
    const { body } = await post('/auth/agent/challenge', { key_fingerprint: 'SHA256:abc', scope: 'openid' });
    expect(body.detail).toContain(
      '64 lowercase hex digits: `fingerprint` in the answer that registered the key',
    );
  });

  const input = { challenge_id: newId(), signature: 'AAAA', algorithm: 'ed25519' };
  it.each([
    ['no body', undefined, 400, 'invalid_request'],
    ['a challenge id that is no UUID', { ...input, challenge_id: 'x' }, 400, 'invalid_request'],
    ['no signature', { ...input, signature: undefined }, 400, 'invalid_request'],
    ['an algorithm that is no text', { ...input, algorithm: 1 }, 400, 'invalid_request'],
    ['an unknown challenge', input, 400, 'invalid_grant'],
    [
      'a challenge id of no known version',
      { ...input, challenge_id: '11111111-1111-1111-1111-111111111111' },
      400,
      'invalid_grant',
    ],
  ])('a verification with %s', async (_, body, status, error) => {
    const answer = await post('/auth/agent/verify', body);
    expect([answer.status, answer.body.error]).toEqual([status, error]);
  });

  it.each([1, 101, 10_000])('a verification with an unknown algorithm of %d characters', async (length) => {
    const registered = await register();
    const { body } = await challengeFor(registered);
    const answer = await post('/auth/agent/verify', {
      challenge_id: body.challenge_id,
      signature: sign(registered, body),
      algorithm: 'x'.repeat(length),
    });
    expect([answer.status, answer.body.error]).toEqual([400, 'invalid_grant']);
  });

  it('no scope that is only long because it repeats itself', async () => {
    const registered = await register();
    const { status, body } = await challengeFor(registered, 'openid  '.repeat(1_000));
    expect(status).toBe(200);
    expect(body.scope_hash).toBe((await challengeFor(registered)).body.scope_hash);
  });

  it('another content type', async () => {
    for (const path of ['/auth/agent/challenge', '/auth/agent/verify']) {
      const answer = await post(path, 'a=b', { 'content-type': 'text/plain' });
      expect([answer.status, answer.body.error]).toEqual([415, 'unsupported_media_type']);
    }
  });

  it('a wrong signature 401, a wrong algorithm 400, too many failures 429, and then still the right signature 200', async () => {
    const registered = await register();
    const { body } = await challengeFor(registered);
    const wrong = sign({ algorithm: 'ed25519', privateKey: generatePrivateKey('ed25519') }, body);
    const verify = (changes: object) =>
      post('/auth/agent/verify', {
        challenge_id: body.challenge_id,
        signature: wrong,
        algorithm: 'ed25519',
        ...changes,
      });
    const first = await verify({});
    expect([first.status, first.body.error]).toEqual([401, 'invalid_signature']);
    const second = await verify({ algorithm: 'rsa' });
    expect([second.status, second.body.error]).toEqual([400, 'invalid_grant']);
    for (let n = 0; n < 3; n++) await verify({});
    const limited = await verify({});
    expect([limited.status, limited.body.error]).toEqual([429, 'rate_limited']);
    expect(Number(limited.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await verify({ signature: sign(registered, body) })).status).toBe(200);
  });

  it('a revoked key and a suspended agent 403, a scope beyond the agent 400', async () => {
    const { agent, key, ...signer } = await register();
    const registered = { agent, key, ...signer };
    const scope = await challengeFor(registered, 'openid root');
    expect([scope.status, scope.body.error]).toEqual([400, 'invalid_scope']);
    const suspended = await server.send('PATCH', `/api/v1/agents/${agent.body.id}/suspend`, undefined, admin);
    expect(suspended.body).toMatchObject({ status: 'suspended', registration: { active: false } });
    const denied = await challengeFor(registered);
    expect([denied.status, denied.body.error]).toEqual([403, 'policy_denied']);
    await server.send('PATCH', `/api/v1/agents/${agent.body.id}/reactivate`, suspended.body, admin);
    const path = `/api/v1/agents/${agent.body.id}/keys/${key.body.key_id}`;
    const revoked = await post(`${path}/revoke`, { reason: 'lost' }, admin);
    expect(revoked.body.state).toBe('revoked');
    const refused = await challengeFor(registered);
    expect([refused.status, refused.body.error]).toEqual([403, 'key_revoked']);
  });

  it('a deprecated key warns on both routes', async () => {
    const registered = await register();
    const { agent, key } = registered;
    const path = `/api/v1/agents/${agent.body.id}/keys/${key.body.key_id}`;
    const deprecated = await post(`${path}/deprecate`, { sunset_after_seconds: 60 }, admin);
    const challenge = await challengeFor(registered);
    const granted = await post('/auth/agent/verify', {
      challenge_id: challenge.body.challenge_id,
      signature: sign(registered, challenge.body),
      algorithm: 'ed25519',
    });
    for (const { status, headers } of [challenge, granted]) {
      expect(status).toBe(200);
      expect(headers.get('warning')).toContain(deprecated.body.sunset_at);
      expect(headers.get('sunset')).toBe(new Date(deprecated.body.sunset_at).toUTCString());
      expect(headers.get('deprecation')).toMatch(/^@\d+$/);
    }
  });
});
