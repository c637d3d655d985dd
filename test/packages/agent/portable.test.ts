// The parts of the agent's client that need no service: what is signed, what is waited for, what is not sent twice.
import { generateKeyPairSync, sign, verify } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createAgent, type KeyInput } from '../../../packages/agent/src/index.ts';
import { createServiceClient } from '../../../packages/agent/src/service-client.ts';
import { describeSigner } from '../../../packages/agent/src/signer.ts';

it('a signature in DER becomes the one of 64 bytes, whatever its numbers begin with', async () => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
  const key = await describeSigner({
    algorithm: 'es256',
    publicKey: Buffer.concat([Buffer.from([4]), Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')]),
    sign: (message) => sign('sha256', message, privateKey),
  });
  // Numbers with a leading zero, or a first bit that is set, each come in one of two.
  for (let count = 0; count < 300; count++) {
    const message = Buffer.from(`message ${count}`);
    const signature = await key.sign(message);
    expect(verify('sha256', message, { key: publicKey, dsaEncoding: 'ieee-p1363' }, signature)).toBe(true);
  }
  const broken = { algorithm: 'es256', publicKey: key.publicKey, sign: () => new Uint8Array(71) } as const;
  await expect((await describeSigner(broken)).sign(new Uint8Array())).rejects.toThrow('DER');
});

describe('a request', () => {
  function serve(answers: readonly (Response | 'lost')[], maxWaitSeconds = 1) {
    const left = [...answers];
    let requests = 0;
    const fetched: typeof fetch = async () => {
      requests += 1;
      const answer = left.shift();
      if (answer === undefined || answer === 'lost') throw new TypeError('fetch failed');
      return answer;
    };
    const issuer = 'https://id.example';
    const client = createServiceClient({ issuer, prover: undefined, fetch: fetched, maxWaitSeconds });
    return { call: client.call, count: () => requests };
  }
  const refusal = (status: number, retryAfter?: string) =>
    new Response(JSON.stringify({ error: 'rate_limited', detail: 'Too many.' }), {
      status,
      headers: { 'x-request-id': 'r-1', ...(retryAfter === undefined ? {} : { 'retry-after': retryAfter }) },
    });

  it.each([429, 503])('waits for Retry-After of %s within its bound', async (status) => {
    const { call, count } = serve([refusal(status, '0'), refusal(status), Response.json({ a: 1 })]);
    expect(await call({ path: '/x', json: {} })).toEqual({ a: 1 });
    expect(count()).toBe(3);
  });

  it('beyond the bound fails with the seconds and the id of the request', async () => {
    const { call, count } = serve([refusal(429, '2')]);
    await expect(call({ path: '/x', json: {} })).rejects.toMatchObject({
      ...{ code: 'rate_limited', status: 429, message: 'Too many.', retryAfterSeconds: 2, requestId: 'r-1' },
    });
    expect(count()).toBe(1);
  });

  it('is given up after four tries', async () => {
    const { call, count } = serve(Array.from({ length: 9 }, () => refusal(503, '0')));
    await expect(call({ path: '/x' })).rejects.toMatchObject({ status: 503 });
    expect(count()).toBe(4);
  });

  it('that was lost is sent again only where that is safe', async () => {
    const once = serve(['lost', Response.json({})]);
    await expect(once.call({ path: '/x', json: {} })).rejects.toMatchObject({ code: 'unreachable' });
    const again = serve(['lost', Response.json({})]);
    expect(await again.call({ path: '/x', json: {}, safe: true })).toEqual({});
    expect([once.count(), again.count()]).toEqual([1, 2]);
  });

  it('is not answered by what is no JSON object', async () => {
    for (const body of ['<html>', '7', 'null'])
      await expect(serve([new Response(body)]).call({ path: '/x' })).rejects.toMatchObject({
        code: 'unexpected_answer',
      });
    await expect(serve([new Response('<html>', { status: 502 })]).call({ path: '/x' })).rejects.toMatchObject(
      {
        ...{ code: 'unexpected_answer', status: 502, message: 'The answer is 502.' },
      },
    );
  });
});

it('what is no challenge is not signed', async () => {
  const { privateKey } = generateKeyPairSync('ed25519');
  const key = privateKey.export({ format: 'pem', type: 'pkcs8' }) as string;
  const answered: typeof fetch = async () => Response.json({ challenge_id: 'c', nonce: 'n' });
  const agent = await createAgent({ issuer: 'https://id.example', key, fetch: answered });
  await expect(agent.getToken()).rejects.toMatchObject({ code: 'unexpected_answer' });
});

it('a key that cannot prove is refused for DPoP', async () => {
  const dpop: KeyInput = { algorithm: 'bip340', publicKey: new Uint8Array(32), sign: (message) => message };
  const { privateKey } = generateKeyPairSync('ed25519');
  const key = privateKey.export({ format: 'pem', type: 'pkcs8' }) as string;
  await expect(createAgent({ issuer: 'https://id.example', key, dpop })).rejects.toMatchObject({
    code: 'invalid_key',
  });
});
