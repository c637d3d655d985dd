// Points that decode somewhere and must not be keys here: small order, non-canonical, off the curve.
import { ed25519 } from '@noble/curves/ed25519.js';
import { numberToBytesBE, numberToBytesLE } from '@noble/curves/utils.js';
import { describe, expect, it } from 'vitest';
import { isCanonicalPublicKey, parsePublicKey } from '../../../src/platform/crypto/public-key.ts';

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

/** The eight points of small order, in their canonical encodings. */
const SMALL_ORDER = [
  `01${'00'.repeat(31)}`,
  `ec${'ff'.repeat(30)}7f`,
  '00'.repeat(32),
  `${'00'.repeat(31)}80`,
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa',
];

/** The other encodings of small-order points: a sign on x = 0, or y not reduced. */
const SMALL_ORDER_ODD = [
  `01${'00'.repeat(30)}80`,
  `ec${'ff'.repeat(31)}`,
  `ee${'ff'.repeat(30)}7f`,
  `ee${'ff'.repeat(31)}`,
  `ed${'ff'.repeat(30)}7f`,
  `ed${'ff'.repeat(31)}`,
];

/** Every y from p to 2^255 − 1, with either sign: no canonical encoding has such a y. */
const UNREDUCED = Array.from({ length: 19 }, (_, offset) => {
  const bytes = numberToBytesLE(ed25519.Point.Fp.ORDER + BigInt(offset), 32);
  return [hex(bytes), hex(bytes.with(31, (bytes[31] ?? 0) | 0x80))];
}).flat();

describe('an ed25519 key', () => {
  it.each(SMALL_ORDER)('of small order is refused: %s', (key) => {
    expect(() => parsePublicKey('ed25519', key)).toThrow(
      expect.objectContaining({ reason: 'invalid_point', message: expect.stringMatching('small order') }),
    );
    expect(isCanonicalPublicKey('ed25519', Buffer.from(key, 'hex'))).toBe(false);
  });

  it.each([...SMALL_ORDER_ODD, ...UNREDUCED])('that is not canonically encoded is refused: %s', (key) => {
    expect(() => parsePublicKey('ed25519', key)).toThrow(
      expect.objectContaining({
        reason: 'invalid_point',
        message: expect.stringMatching(/canonical|not a point/),
      }),
    );
    const jwk = { kty: 'OKP', crv: 'Ed25519', x: Buffer.from(key, 'hex').toString('base64url') };
    expect(() => parsePublicKey('ed25519', jwk)).toThrow(
      expect.objectContaining({ reason: 'invalid_point' }),
    );
  });

  it('off the curve is refused', () => {
    expect(() => parsePublicKey('ed25519', hex(numberToBytesLE(2n, 32)))).toThrow(/not a point on the curve/);
  });
});

const P256_FIELD = 2n ** 256n - 2n ** 224n + 2n ** 192n + 2n ** 96n - 1n;
const K256_FIELD = 2n ** 256n - 2n ** 32n - 977n;
const number = (value: bigint) => hex(numberToBytesBE(value, 32));
const K256_G = '79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798';

describe('a Weierstrass key', () => {
  it.each([
    ['es256', 'the identity as one byte', '00'],
    ['es256', 'the identity as zeros', `04${'00'.repeat(64)}`],
    ['es256k', 'the identity as zeros', '00'.repeat(64)],
    ['es256', 'off the curve', `04${number(1n)}${number(1n)}`],
    ['es256k', 'off the curve', `04${number(1n)}${number(1n)}`],
    ['es256', 'an x of p', `02${number(P256_FIELD)}`],
    ['es256k', 'an x beyond p', `02${number(K256_FIELD + 1n)}`],
    ['es256k', 'an x without a y', `02${number(5n)}`],
    ['bip340', 'an x without a y', number(5n)],
    ['bip340', 'an x of p', number(K256_FIELD)],
    ['bip340', 'an x beyond p', number(K256_FIELD + 1n)],
    ['bip340', 'zero', number(0n)],
    ['bip340', 'another prefix', `04${K256_G}`],
  ] as const)('of %s is refused: %s', (algorithm, _name, key) => {
    expect(() => parsePublicKey(algorithm, key)).toThrow(expect.objectContaining({ name: 'PublicKeyError' }));
  });

  it('of bip340 is refused uncompressed, for which no rule says what its y would mean', () => {
    const y = '483ada7726a3c4655da4fbfc0e1108a8fd17b448a68554199c47d08ffb10d4b8';
    expect(() => parsePublicKey('bip340', `04${K256_G}${y}`)).toThrow(/has 65 bytes/);
    expect(hex(parsePublicKey('bip340', `03${K256_G}`).raw)).toBe(K256_G);
  });
});
