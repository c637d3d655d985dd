// Private keys opened from PKCS #8, as a JWK and as they are stored.
import { createPrivateKey, createPublicKey, generateKeyPairSync, sign, verify } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { jwkOfPkcs8, openPrivateKey } from '../../../src/platform/crypto/private-key.node.ts';

const KINDS = {
  'P-256': { type: 'ec', namedCurve: 'P-256' },
  Ed25519: { type: 'ed25519' },
  RSA: { type: 'rsa', modulusLength: 2_048 },
} as const;

type Kind = keyof typeof KINDS;

const MESSAGE = Buffer.from('message');

function generate(kind: Kind) {
  const { type, ...options } = KINDS[kind];
  const { publicKey: spki, privateKey: pkcs8 } = generateKeyPairSync(type as 'ed25519', {
    ...options,
    publicKeyEncoding: { type: 'spki', format: 'der' },
    privateKeyEncoding: { type: 'pkcs8', format: 'der' },
  });
  const publicKey = createPublicKey({ key: spki, format: 'der', type: 'spki' });
  const { kty = '', x, y } = publicKey.export({ format: 'jwk' });
  const publicHalf = { kty, ...(x === undefined ? {} : { x }), ...(y === undefined ? {} : { y }) };
  const digest = kind === 'Ed25519' ? null : 'sha256';
  /** What becomes of a key: its error, or whether its signature verifies. */
  const judge = (open: () => ReturnType<typeof createPrivateKey>) => {
    try {
      const key = open();
      return [key.asymmetricKeyType, verify(digest, MESSAGE, publicKey, sign(digest, MESSAGE, key))];
    } catch (error) {
      return String(error);
    }
  };
  const openStored = (bytes: Buffer) => createPrivateKey({ key: bytes, format: 'der', type: 'pkcs8' });
  return { pkcs8, publicHalf, judge, openStored };
}

describe('a private key', () => {
  it.each(Object.keys(KINDS) as Kind[])('of %s signs what its public half verifies', (kind) => {
    for (let round = 0; round < (kind === 'RSA' ? 1 : 20); round += 1) {
      const { pkcs8, publicHalf, judge } = generate(kind);
      for (const half of [publicHalf, null])
        expect(judge(() => openPrivateKey(pkcs8, half))).toEqual([expect.any(String), true]);
    }
  });

  it.each(['P-256', 'Ed25519'] as const)(
    'of %s is read as the JWK that WebCrypto makes of it',
    async (curve) => {
      const { pkcs8, publicHalf } = generate(curve);
      const name = curve === 'P-256' ? { name: 'ECDSA', namedCurve: curve } : { name: curve };
      const key = await crypto.subtle.importKey('pkcs8', new Uint8Array(pkcs8), name, true, ['sign']);
      const { kty, crv, d, x, y } = await crypto.subtle.exportKey('jwk', key);
      const expected = { kty, crv, d, x, ...(y === undefined ? {} : { y }) };
      expect(jwkOfPkcs8(pkcs8, publicHalf)).toEqual(expected);
    },
  );

  it.each([
    ['P-256', 'Ed25519'],
    ['Ed25519', 'P-256'],
    ['P-256', 'P-256'],
    ['RSA', 'P-256'],
  ] as const)('of %s beside the public half of another of %s is what its bytes say', (kind, other) => {
    const { pkcs8, judge, openStored } = generate(kind);
    const { publicHalf } = generate(other);
    expect(judge(() => openPrivateKey(pkcs8, publicHalf))).toEqual(judge(() => openStored(pkcs8)));
  });

  it.each(['P-256', 'Ed25519'] as const)('of %s in harmed bytes is refused as it was stored', (kind) => {
    const { pkcs8, publicHalf, judge, openStored } = generate(kind);
    const secret = kind === 'P-256' ? 36 : 16;
    const harmed = fc.oneof(
      fc
        .tuple(fc.nat({ max: pkcs8.length - 1 }), fc.integer({ min: 1, max: 255 }))
        .map(([at, bits]) => Buffer.from(pkcs8.with(at, (pkcs8[at] ?? 0) ^ bits))),
      fc.nat({ max: pkcs8.length - 1 }).map((length) => pkcs8.subarray(0, length)),
      fc.uint8Array({ minLength: 1, maxLength: 4 }).map((more) => Buffer.concat([pkcs8, more])),
      fc.constantFrom(0, 255).map((byte) => Buffer.from(pkcs8).fill(byte, secret, secret + 32)),
    );
    fc.assert(
      fc.property(harmed, (bytes) => {
        expect(judge(() => openPrivateKey(bytes, publicHalf))).toEqual(judge(() => openStored(bytes)));
      }),
    );
  });
});
