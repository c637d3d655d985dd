// Each check of a proof by itself: what it refuses, with which words, and what it lets through.
import { describe, expect, it } from 'vitest';
import { ProofVerifier } from '../../../src/authentication/dpop/dpop-proof.service.ts';
import {
  checkProof,
  expiryOf,
  hashAccessToken,
  onlyProof,
  parseProof,
} from '../../../src/authentication/dpop/dpop-proof.ts';
import { assemble, BASE_URL, createProver, NOW, type Parts, SECONDS } from './proofs.ts';

const request = { method: 'POST', url: `${BASE_URL}/oauth/token`, now: NOW };
const refusal = (detail: RegExp) =>
  expect.objectContaining({ code: 'invalid_dpop_proof', detail: expect.stringMatching(detail) });

const prover = await createProver();

function failure(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  return undefined;
}

describe('the DPoP header', () => {
  it('must be there once', () => {
    expect(onlyProof(['a.b.c'])).toBe('a.b.c');
    expect(failure(() => onlyProof([]))).toEqual(refusal(/required/));
    expect(failure(() => onlyProof(['a.b.c', 'a.b.c']))).toEqual(refusal(/sent once/));
  });
});

describe('the form of a proof', () => {
  it.each([
    '',
    'a.b',
    'a.b.c.d',
    'x',
    'e30.e30.',
    'e30=.e30.AA',
    'e30.e30.AA, e30.e30.AA',
    'W10.e30.AA',
    'e30.bnVsbA.AA',
  ])('refuses %j, which is no compact JWT of two objects', (text) => {
    expect(failure(() => parseProof(text))).toEqual(refusal(/compact form/));
  });

  it('refuses a proof of more than 4,096 characters', async () => {
    const text = await prover.prove({ claims: { filler: 'x'.repeat(3_000) } });
    expect(text.length).toBeGreaterThan(4_096);
    expect(failure(() => parseProof(text))).toEqual(refusal(/4096 characters/));
  });

  it.each<[string, Record<string, unknown>, RegExp]>([
    ['no typ', { typ: undefined }, /typ/],
    ['the typ of an access token', { typ: 'at+jwt' }, /typ/],
    ['a typ in capitals', { typ: 'DPOP+JWT' }, /typ/],
    ['alg none', { alg: 'none' }, /alg/],
    ['a symmetric alg', { alg: 'HS256' }, /alg/],
    ['ES256K', { alg: 'ES256K' }, /alg/],
    ['RS256', { alg: 'RS256' }, /alg/],
    ['an alg that is a member of every object', { alg: 'constructor' }, /alg/],
    ['an alg that is no text', { alg: ['ES256'] }, /alg/],
    ['a critical parameter', { crit: ['b64'], b64: true }, /critical/],
    ['an empty list of critical parameters', { crit: [] }, /critical/],
    ['no jwk', { jwk: undefined }, /no jwk/],
    ['a jwk that is a text', { jwk: '{}' }, /no jwk/],
    ['a jwk that is a list', { jwk: [] }, /no jwk/],
  ])('refuses %s', (_what, header, detail) => {
    const text = assemble({ typ: 'dpop+jwt', alg: 'ES256', jwk: prover.jwk, ...header }, {});
    expect(failure(() => parseProof(text))).toEqual(refusal(detail));
  });

  it.each<[string, Record<string, unknown>, RegExp]>([
    ...(['jti', 'htm', 'htu'] as const).flatMap((name): [string, Record<string, unknown>, RegExp][] => [
      [`no ${name}`, { [name]: undefined }, new RegExp(`The ${name} `)],
      [`an empty ${name}`, { [name]: '' }, new RegExp(`The ${name} `)],
      [`a ${name} that is a number`, { [name]: 7 }, new RegExp(`The ${name} `)],
    ]),
    ['a jti of 257 characters', { jti: 'j'.repeat(257) }, /jti .* longer/],
    ['no iat', { iat: undefined }, /The iat/],
    ['an iat that is a text', { iat: String(SECONDS) }, /The iat/],
    ['an iat of null', { iat: null }, /The iat/],
    ['an ath that is a number', { ath: 7 }, /The ath/],
    ['a nonce that is a list', { nonce: ['a'] }, /The nonce/],
  ])('refuses %s', (_what, claims, detail) => {
    const all = { htm: 'POST', htu: request.url, iat: SECONDS, jti: 'a', ...claims };
    const text = assemble({ typ: 'dpop+jwt', alg: 'ES256', jwk: prover.jwk }, all);
    expect(failure(() => parseProof(text))).toEqual(refusal(detail));
  });
});

describe('what a proof is for', () => {
  const check = async (parts: Parts, expected: Partial<Parameters<typeof checkProof>[1]> = {}) => {
    const proof = parseProof(await prover.prove(parts));
    return failure(() => checkProof(proof, { ...request, ...expected }));
  };

  it.each(['post', 'GET', 'POST '])('refuses htm %j for a POST', async (htm) => {
    expect(await check({ claims: { htm } })).toEqual(refusal(/htm/));
  });

  it.each([
    `${BASE_URL}/oauth/token/`,
    `${BASE_URL}/oauth`,
    `${BASE_URL}:8443/oauth/token`,
    'http://acme.example.com/oauth/token',
    'https://other.example.com/oauth/token',
    `${BASE_URL}/OAuth/token`,
    '/oauth/token',
    'not an address',
  ])('refuses htu %s', async (htu) => {
    expect(await check({ claims: { htu } })).toEqual(refusal(/htu/));
  });

  it.each([
    'HTTPS://ACME.example.com:443/oauth/./token',
    `${BASE_URL}/oauth/%74oken`,
    `${BASE_URL}/oauth/token?x=1#y`,
  ])('takes htu %s, another spelling', async (htu) => {
    expect(await check({ claims: { htu } })).toBeUndefined();
  });

  it('refuses every proof where the request itself has no address that a proof could name', async () => {
    expect(await check({ claims: { htu: '\\' } }, { url: '\\' })).toEqual(refusal(/htu/));
  });

  // The clock stands at half past a second.
  it.each([
    [-59.5, undefined],
    [-60, /too old/],
    [-3_600, /too old/],
    [0, undefined],
    [10.5, undefined],
    [11, /in the future/],
    [1e300, /in the future/],
    [-1e300, /too old/],
  ])('an iat %d s from now', async (offset, detail) => {
    const result = await check({ claims: { iat: SECONDS + offset } });
    expect(result).toEqual(detail === undefined ? undefined : refusal(detail));
  });

  it.each([
    ['before', -2, refusal(/before the tenant was suspended, or the service restored/)],
    ['in the second of', -1, undefined],
  ])('an iat %s the end of a suspension', async (_when, offset, result) => {
    const resumedAt = new Date(NOW - 1_000);
    expect(await check({ claims: { iat: SECONDS + offset } }, { resumedAt })).toEqual(result);
  });

  it('says the time of the server and the limits', async () => {
    const detail = `the time of the server is ${SECONDS} (2026-03-01T12:00:00.500Z), and a proof may be 60 s old and 10 s ahead at most.`;
    expect(await check({ claims: { iat: SECONDS - 100 } })).toMatchObject({
      detail: expect.stringContaining(detail),
    });
  });

  it('keeps a proof in mind until no clock takes it, counted from its own time', () => {
    expect(expiryOf({ iat: SECONDS + 10 })).toBe(SECONDS + 80);
  });

  describe('with an access token', () => {
    const text = 'an.access.token';
    const withToken = (parts: Parts, jkt = prover.jkt) => check(parts, { accessToken: { text, jkt } });

    it('takes its hash and its key', async () => {
      expect(await withToken({ claims: { ath: hashAccessToken(text) } })).toBeUndefined();
    });

    it.each([
      ['no ath', undefined, /lacks ath/],
      ['an empty ath', '', /not the hash/],
      ['the hash of another token', hashAccessToken('another'), /not the hash/],
      ['the hash with padding', `${hashAccessToken(text)}=`, /not the hash/],
    ])('refuses %s', async (_what, ath, detail) => {
      expect(await withToken({ claims: { ath } })).toEqual(refusal(detail));
    });

    it('refuses a key that the token is not bound to', async () => {
      const { jkt } = await createProver();
      expect(await withToken({ claims: { ath: hashAccessToken(text) } }, jkt)).toEqual(
        refusal(/another key/),
      );
    });
  });
});

describe('the signature', () => {
  const verifier = new ProofVerifier();

  it.each(['ES256', 'Ed25519', 'EdDSA', 'PS256'] as const)(
    'of %s is checked with the key inside',
    async (alg) => {
      const { prove, jkt } = await createProver(alg);
      const [proof, another] = [parseProof(await prove()), parseProof(await prove())];
      expect(proof.key.thumbprint).toBe(jkt);
      expect(failure(() => verifier.verify(proof))).toBeUndefined();
      expect(failure(() => verifier.verify({ ...proof, signature: another.signature }))).toEqual(
        refusal(/signature/),
      );
      expect(failure(() => verifier.verify({ ...proof, signed: another.signed }))).toEqual(
        refusal(/signature/),
      );
      expect(failure(() => verifier.verify({ ...proof, signature: proof.signature.slice(1) }))).toEqual(
        refusal(/signature/),
      );
      expect(failure(() => verifier.verify({ ...proof, signature: new Uint8Array(64) }))).toEqual(
        refusal(/signature/),
      );
    },
  );

  it('is not taken from another key, although the proof shows a good one', async () => {
    const other = await createProver();
    const text = await other.prove({ header: { jwk: prover.jwk } });
    expect(failure(() => verifier.verify(parseProof(text)))).toEqual(refusal(/signature/));
  });

  it('is not taken in DER', async () => {
    const proof = parseProof(await prover.prove());
    const half = (bytes: Uint8Array) => [2, 33, 0, ...bytes];
    const der = Uint8Array.from([
      48,
      70,
      ...half(proof.signature.subarray(0, 32)),
      ...half(proof.signature.subarray(32)),
    ]);
    expect(failure(() => verifier.verify({ ...proof, signature: der }))).toEqual(refusal(/signature/));
  });
});
