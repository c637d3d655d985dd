// The key inside a proof: which forms it may have, and its name.
import { calculateJwkThumbprint } from 'jose';
import { describe, expect, it } from 'vitest';
import { ProofVerifier } from '../../../src/authentication/dpop/dpop-proof.service.ts';
import { parseProof } from '../../../src/authentication/dpop/dpop-proof.ts';
import {
  isProofAlgorithm,
  PROOF_ALGORITHMS,
  readProofKey,
} from '../../../src/authentication/dpop/proof-key.ts';
import { assemble, createProver, SECONDS } from './proofs.ts';

const EC = {
  kty: 'EC',
  crv: 'P-256',
  x: 'l8tFrhx-34tV3hRICRDY9zCkDlpBhF42UQUfWVAWBFs',
  y: '9VE4jf_Ok_o64zbTTlcuNJajHmt6v9TDVrU0CdvGRDA',
};
const OKP = { kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' };
const bytes = (length: number, first = 1) =>
  Buffer.concat([Buffer.of(first), Buffer.alloc(length - 1, 7)]).toString('base64url');
const RSA = { kty: 'RSA', n: bytes(256, 0x80), e: 'AQAB' };

const refusal = (detail: RegExp) =>
  expect.objectContaining({ code: 'invalid_dpop_proof', detail: expect.stringMatching(detail) });

describe('the key in a proof', () => {
  it('is named by its RFC 7638 thumbprint: that of RFC 9449 §6.1, and those that jose computes', async () => {
    expect(readProofKey('ES256', EC).thumbprint).toBe('0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I');
    for (const [alg, jwk] of [
      ['ES256', EC],
      ['EdDSA', OKP],
      ['PS256', RSA],
    ] as const)
      expect(readProofKey(alg, jwk).thumbprint).toBe(await calculateJwkThumbprint(jwk));
  });

  it('keeps its required members only, and so has one name whatever else is sent', () => {
    const key = readProofKey('ES256', { ...EC, kid: 'mine', use: 'sig', alg: 'ES256', x5c: ['no'] });
    expect(key).toEqual(readProofKey('ES256', EC));
    expect(key.jwk).toEqual(EC);
  });

  it.each(['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k', 'priv'])(
    'is refused with the private member %s, whatever its value',
    (member) => {
      for (const value of ['AQAB', null, ''])
        expect(() => readProofKey('ES256', { ...EC, [member]: value })).toThrow(refusal(/private members/));
    },
  );

  it('is refused when it is a whole private key, and the answer repeats none of it', async () => {
    const { privateJwk } = await createProver();
    const text = assemble({ typ: 'dpop+jwt', alg: 'ES256', jwk: privateJwk }, {});
    expect(() => parseProof(text)).toThrow(
      expect.objectContaining({ detail: expect.not.stringContaining(String(privateJwk.d)) }),
    );
    expect(() => parseProof(text)).toThrow(refusal(/private members/));
  });

  it.each<[string, 'ES256' | 'Ed25519' | 'EdDSA' | 'PS256', Record<string, unknown>]>([
    ['an Ed25519 key for ES256', 'ES256', OKP],
    ['a P-256 key for EdDSA', 'EdDSA', EC],
    ['a P-256 key for PS256', 'PS256', EC],
    ['an RSA key for ES256', 'ES256', RSA],
    ['another curve', 'ES256', { ...EC, crv: 'secp256k1' }],
    ['a curve of another kind of key', 'Ed25519', { ...OKP, kty: 'EC' }],
    ['Ed448', 'EdDSA', { kty: 'OKP', crv: 'Ed448', x: bytes(57) }],
    ['no y', 'ES256', { ...EC, y: undefined }],
    ['a short x', 'ES256', { ...EC, x: bytes(31) }],
    ['a padded x', 'ES256', { ...EC, x: `${EC.x}=` }],
    ['an x with unused bits', 'ES256', { ...EC, x: `${EC.x.slice(0, -1)}t` }],
    ['a y in standard base64', 'ES256', { ...EC, y: EC.y.replaceAll('_', '/') }],
    ['a number as x', 'EdDSA', { ...OKP, x: 7 }],
    ['a symmetric key without its value', 'ES256', { kty: 'oct' }],
    ['an RSA key of 1,024 bits', 'PS256', { ...RSA, n: bytes(128) }],
    ['an RSA key of 2,047 bits', 'PS256', { ...RSA, n: bytes(256, 0x7f) }],
    ['an RSA key of 8,192 bits', 'PS256', { ...RSA, n: bytes(1024) }],
    ['an RSA key with a leading zero', 'PS256', { ...RSA, n: bytes(257, 0) }],
    ['an RSA key with a long exponent', 'PS256', { ...RSA, e: bytes(5) }],
    ['an RSA key without an exponent', 'PS256', { ...RSA, e: '' }],
  ])('is refused: %s', (_what, alg, jwk) => {
    expect(() => readProofKey(alg, jwk)).toThrow(refusal(/^For /));
  });

  it.each<[string, 'ES256' | 'EdDSA', Record<string, unknown>, RegExp]>([
    ['off its curve', 'ES256', { ...EC, y: EC.x }, /not a point on the curve P-256/],
    [
      'of small order',
      'EdDSA',
      { ...OKP, x: Buffer.concat([Buffer.of(1), Buffer.alloc(31)]).toString('base64url') },
      /small order/,
    ],
    [
      'not canonically encoded',
      'EdDSA',
      {
        ...OKP,
        x: Buffer.concat([Buffer.of(0xee), Buffer.alloc(30, 0xff), Buffer.of(0x7f)]).toString('base64url'),
      },
      /canonical/,
    ],
  ])('is refused when its point is %s', (_what, alg, jwk, detail) => {
    const claims = { htm: 'POST', htu: 'https://a.example/', iat: SECONDS, jti: 'a' };
    const proof = parseProof(assemble({ typ: 'dpop+jwt', alg, jwk }, claims));
    expect(() => new ProofVerifier().verify(proof)).toThrow(refusal(detail));
  });

  it('fits an asymmetric algorithm only', () => {
    expect(PROOF_ALGORITHMS.every(isProofAlgorithm)).toBe(true);
    for (const alg of ['none', 'HS256', 'ES256K', 'RS256', 'es256', '', undefined, null, 7, 'toString'])
      expect(isProofAlgorithm(alg)).toBe(false);
  });
});
