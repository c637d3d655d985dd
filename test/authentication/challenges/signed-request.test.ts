// Verification by a signature of the request (RFC 9421) over HTTP; another implementation signs.
import { createHash, createPrivateKey } from 'node:crypto';
import { createSigner, httpbis } from 'http-message-signatures';
import { afterAll, describe, expect, it } from 'vitest';
import { buildPayloadOfResponse } from '../../../packages/agent/src/payloads.ts';
import type { KeyAlgorithm } from '../../../src/platform/crypto/algorithm.ts';
import { encodeBase64Url } from '../../../src/platform/crypto/base64.ts';
import { jwkThumbprint, toJwk } from '../../../src/platform/crypto/public-key.ts';
import { createRooms, createTestAgent, readAudit } from '../../identity/agents/agent-rooms.ts';
import { signPayload } from '../../platform/crypto/sign.ts';
import { startTestServer } from '../../platform/http/test-server.ts';
import { useTestDatabase } from '../../setup/database.ts';
import { requestTo } from '../tokens/accounts.ts';

const ALGORITHMS = { ed25519: 'ed25519', es256: 'ecdsa-p256-sha256' } as const;
const VERIFY = '/auth/agent/verify';
const COVERED = ['@method', '@target-uri', 'content-digest'];

const test = await useTestDatabase();
const rooms = createRooms(test.database);
await rooms.tenants.create({ slug: 'demo' });
const server = await startTestServer(rooms.routes, { database: test.database, tenants: rooms.tenants });
afterAll(() => server.drain(0));

async function contextOfDemo() {
  const tenant = await rooms.tenants.bySlug('demo');
  if (tenant === undefined) throw new Error('no tenant');
  return requestTo(tenant);
}

/** An agent with a key, its challenge, and the address by which the service knows itself. */
async function prepare(algorithm: KeyAlgorithm = 'ed25519') {
  const context = await contextOfDemo();
  const administrator = { kind: 'application', subject: 'a', clientId: 'a', tokenId: 'a' } as const;
  const scopes = ['agents:write', 'agents:capabilities', 'agents:impersonate'];
  const agent = await createTestAgent(
    rooms,
    { ...context, principal: { ...administrator, scopes } },
    { algorithm },
  );
  const asked = await server.send('POST', '/auth/agent/challenge', {
    key_fingerprint: agent.fingerprint,
    scope: 'openid',
  });
  const url = `${context.tenant.baseUrl}${VERIFY}`;
  return {
    ...agent,
    context,
    challenge: asked.body,
    url,
    body: JSON.stringify({ challenge_id: asked.body.challenge_id }),
  };
}
type Prepared = Awaited<ReturnType<typeof prepare>>;

const digestOf = (body: string) => `sha-256=:${createHash('sha256').update(body).digest('base64')}:`;

type Changes = {
  fields?: readonly string[];
  params?: Record<string, unknown>;
  headers?: Record<string, string>;
  url?: string;
  key?: Pick<Prepared, 'algorithm' | 'privateKey' | 'publicKey'>;
  name?: string;
};

/** Signs the request with the npm package http-message-signatures. */
async function sign(
  prepared: Prepared,
  { fields = COVERED, params = {}, headers = {}, url, key = prepared, name }: Changes = {},
) {
  const jwk = { ...toJwk(key.publicKey), d: encodeBase64Url(key.privateKey) };
  const alg = ALGORITHMS[key.algorithm as keyof typeof ALGORITHMS];
  const paramValues = {
    created: new Date(),
    expires: new Date(Date.now() + 60_000),
    nonce: prepared.challenge.nonce,
    keyid: jwkThumbprint(prepared.publicKey),
    alg,
    tag: 'countersign-verify',
    ...params,
  };
  const request = {
    method: 'POST',
    url: url ?? prepared.url,
    headers: { 'content-type': 'application/json', 'content-digest': digestOf(prepared.body), ...headers },
  };
  const signed = await httpbis.signMessage(
    {
      key: createSigner(createPrivateKey({ key: jwk, format: 'jwk' }), alg),
      ...(name === undefined ? {} : { name }),
      fields: [...fields],
      params: Object.keys(paramValues).filter((param) => paramValues[param as 'tag'] !== undefined),
      paramValues: paramValues as NonNullable<Parameters<typeof httpbis.signMessage>[0]['paramValues']>,
    },
    request,
  );
  return signed.headers as Record<string, string>;
}

const verify = (prepared: Prepared, headers: Record<string, string>, body = prepared.body) =>
  server.send('POST', VERIFY, body, headers);

describe.each(Object.keys(ALGORITHMS) as (keyof typeof ALGORITHMS)[])(
  'an agent with a key of %s',
  (algorithm) => {
    it('gets tokens for the request that it signed, once', async () => {
      const prepared = await prepare(algorithm);
      const headers = await sign(prepared);
      const answer = await verify(prepared, headers);
      expect(answer.status, answer.text).toBe(200);
      expect(answer.body).toMatchObject({ token_type: 'Bearer', scope: 'openid' });
      const again = await verify(prepared, headers);
      expect([again.status, again.body.error]).toEqual([400, 'challenge_used']);
    });

    it('may leave out alg, cover the address in parts and more, and have other signatures beside', async () => {
      const prepared = await prepare(algorithm);
      const fields = ['@method', '@authority', '@path', '@scheme', 'content-type', 'content-digest'];
      const other = await sign(prepared, { params: { tag: 'web-bot-auth' }, name: 'other' });
      const own = await sign(prepared, { fields, params: { alg: undefined } });
      const both = (name: 'Signature' | 'Signature-Input') => ({ [name]: `${other[name]}, ${own[name]}` });
      const answer = await verify(prepared, { ...own, ...both('Signature'), ...both('Signature-Input') });
      expect(answer.status, answer.text).toBe(200);
    });

    it.each([
      [
        'another method',
        async (p: Prepared) => sign(p, { fields: ['@target-uri', 'content-digest'] }),
        'invalid_request',
      ],
      [
        'no address',
        async (p: Prepared) => sign(p, { fields: ['@method', '@path', 'content-digest'] }),
        'invalid_request',
      ],
      [
        'no content',
        async (p: Prepared) => sign(p, { fields: ['@method', '@target-uri'] }),
        'invalid_request',
      ],
      [
        'another address',
        async (p: Prepared) => sign(p, { url: 'https://other.example/auth/agent/verify' }),
        'invalid_signature',
      ],
      ['another key', async (p: Prepared) => sign(p, { key: await prepare(algorithm) }), 'invalid_signature'],
      [
        'another nonce',
        async (p: Prepared) => sign(p, { params: { nonce: 'a'.repeat(64) } }),
        'invalid_signature',
      ],
      ['another keyid', async (p: Prepared) => sign(p, { params: { keyid: 'x' } }), 'invalid_signature'],
      [
        'a later time',
        async (p: Prepared) => sign(p, { params: { created: new Date(Date.now() + 60_000) } }),
        'invalid_signature',
      ],
      [
        'a time that has passed',
        async (p: Prepared) => sign(p, { params: { expires: new Date(Date.now() - 1_000) } }),
        'invalid_signature',
      ],
      ['no end', async (p: Prepared) => sign(p, { params: { expires: undefined } }), 'invalid_request'],
      ['no nonce', async (p: Prepared) => sign(p, { params: { nonce: undefined } }), 'invalid_request'],
      ['another tag', async (p: Prepared) => sign(p, { params: { tag: 'web-bot-auth' } }), 'invalid_request'],
      ['another alg', async (p: Prepared) => sign(p, { params: { alg: 'rsa-pss-sha512' } }), 'invalid_grant'],
      [
        'the alg of another key',
        async (p: Prepared) =>
          sign(p, { params: { alg: algorithm === 'es256' ? 'ed25519' : 'ecdsa-p256-sha256' } }),
        'invalid_grant',
      ],
      [
        'another content',
        async (p: Prepared) => sign(p, { headers: { 'content-digest': digestOf('{}') } }),
        'invalid_request',
      ],
      ['no digest', async (p: Prepared) => ({ ...(await sign(p)), 'content-digest': '' }), 'invalid_request'],
      [
        'no signature',
        async (p: Prepared) => ({ ...(await sign(p)), Signature: 'other=:AA==:' }),
        'invalid_request',
      ],
      [
        'a short signature',
        async (p: Prepared) => ({ ...(await sign(p)), Signature: 'sig=:AA==:' }),
        'invalid_signature',
      ],
      [
        'no dictionary',
        async (p: Prepared) => ({ ...(await sign(p)), 'Signature-Input': 'sig' }),
        'invalid_request',
      ],
      [
        'a proof that is not covered',
        async (p: Prepared) => ({ ...(await sign(p)), dpop: 'x' }),
        'invalid_dpop_proof',
      ],
    ])('is refused with %s, and the challenge stays', async (what, change, code) => {
      const prepared = await prepare(algorithm);
      const good = await sign(prepared);
      const changed: Record<string, string> = await change(prepared);
      const label = /^[^=]+/.exec(good['Signature-Input'] ?? '')?.[0] ?? '';
      if (what === 'a short signature') changed.Signature = `${label}=:AA==:`;
      const refused = await verify(prepared, changed);
      expect(refused.body.error, refused.text).toBe(code);
      expect((await verify(prepared, good)).status).toBe(200);
    });
  },
);

it('a body that was changed on its way is refused', async () => {
  const prepared = await prepare();
  const other = await prepare();
  const refused = await verify(prepared, await sign(prepared), other.body);
  expect([refused.status, refused.body.errors?.[0].path]).toEqual([400, 'header.content-digest']);
});

it.each(['es256k', 'bip340'] as const)(
  'a key of %s, for which RFC 9421 has no algorithm, is told so',
  async (algorithm) => {
    const prepared = await prepare(algorithm);
    const headers = await sign(prepared, { key: await prepare(), params: { alg: undefined } });
    const refused = await verify(prepared, headers);
    expect([refused.body.error, refused.body.detail]).toEqual([
      'invalid_grant',
      expect.stringContaining(`no algorithm for ${algorithm}`),
    ]);
  },
);

it('a signature of the payload goes on, whatever the request is signed with', async () => {
  const prepared = await prepare();
  const { algorithm, privateKey, challenge } = prepared;
  const signature = signPayload(algorithm, privateKey, buildPayloadOfResponse(challenge));
  const headers = { 'signature-input': 'broken', signature: 'broken' };
  const send = (body: object) =>
    server.send('POST', VERIFY, { challenge_id: challenge.challenge_id, ...body }, headers);
  for (const half of [{ signature }, { algorithm }])
    expect((await send(half)).body.error).toBe('invalid_request');
  expect((await send({ signature, algorithm })).status).toBe(200);
});

it('a wrong signature is on record, as one of the payload is', async () => {
  const prepared = await prepare();
  await verify(prepared, await sign(prepared, { params: { nonce: 'x' } }));
  const entries = await readAudit(test.database, prepared.context.tenant.id);
  expect(entries.filter(({ key_id }) => key_id === prepared.key.id).at(-1)).toMatchObject({
    action: 'auth.login.failure',
    outcome: 'failure',
    reason: 'invalid_signature',
  });
});
