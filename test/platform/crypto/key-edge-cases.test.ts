// Encodings of public keys on the border of what is accepted, that no published file has: identity, hybrid, unreduced,
// loose DER.
import { p256 } from '@noble/curves/nist.js';
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { describe, expect, it } from 'vitest';
import { KEY_ALGORITHMS, type KeyAlgorithm } from '../../../src/platform/crypto/algorithm.ts';
import { RAW_KEY_LENGTHS } from '../../../src/platform/crypto/curve.ts';
import { isCanonicalPublicKey, parsePublicKey, toSpkiDer } from '../../../src/platform/crypto/public-key.ts';
import { derivePublicKey, generatePrivateKey } from './sign.ts';

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');
const fromHex = (text: string) => Buffer.from(text, 'hex');
const number = (value: bigint) => value.toString(16).padStart(64, '0');
const base64Url = (digits: string) => fromHex(digits).toString('base64url');
const refused = (reason: string) => expect.objectContaining({ name: 'PublicKeyError', reason });

describe.each([
  ['es256', 'P-256', p256.Point, '3059301306072a8648ce3d020106082a8648ce3d030107034200'],
  ['es256k', 'secp256k1', secp256k1.Point, '3056301006072a8648ce3d020106052b8104000a034200'],
] as const)('a key of %s', (algorithm, crv, Point, prefix) => {
  const raw = hex(derivePublicKey(algorithm, generatePrivateKey(algorithm)).raw);
  const [x, y] = [raw.slice(2, 66), raw.slice(66)];
  const isOdd = Number.parseInt(raw.at(-1) ?? '0', 16) % 2 === 1;
  const spki = prefix + raw;

  it.each([
    ['with the sign that fits', isOdd ? '07' : '06'],
    ['with the other sign', isOdd ? '06' : '07'],
  ])('in hybrid form (SEC 1 §2.3.3, ANSI X9.62) is refused %s, raw and in an SPKI', (_, first) => {
    const hybrid = first + raw.slice(2);
    for (const form of [
      hybrid,
      fromHex(hybrid).toString('base64'),
      fromHex(prefix + hybrid).toString('base64'),
    ])
      expect(() => parsePublicKey(algorithm, form)).toThrow(refused('invalid_point'));
    expect(isCanonicalPublicKey(algorithm, fromHex(hybrid))).toBe(false);
  });

  it('that is the identity is refused in every form', () => {
    const emptySpki = `30${algorithm === 'es256' ? '19' : '16'}${prefix.slice(4, -6)}03020000`;
    const jwk = { kty: 'EC', crv, x: base64Url(number(0n)), y: base64Url(number(0n)) };
    for (const form of [
      '00',
      'AA==',
      '00'.repeat(33),
      '00'.repeat(64),
      '00'.repeat(65),
      `04${'00'.repeat(64)}`,
      fromHex(emptySpki).toString('base64'),
      jwk,
    ])
      expect(() => parsePublicKey(algorithm, form)).toThrow(
        expect.objectContaining({ name: 'PublicKeyError' }),
      );
  });

  it('is refused off the curve, in every form', () => {
    const other = number(BigInt(`0x${y}`) ^ 1n);
    const off = `04${x}${other}`;
    for (const form of [
      off,
      off.slice(2),
      fromHex(off).toString('base64'),
      fromHex(prefix + off).toString('base64'),
      { kty: 'EC', crv, x: base64Url(x), y: base64Url(other) },
    ])
      expect(() => parsePublicKey(algorithm, form)).toThrow(refused('invalid_point'));
  });

  it('is refused with a coordinate that is not reduced, which names the same point', () => {
    const field = Point.Fp.ORDER;
    // The least x with a point whose x + p still fits into 32 bytes.
    let least = 1n;
    const lift = (candidate: bigint) => {
      try {
        return Point.fromHex(`02${number(candidate)}`);
      } catch {
        return null;
      }
    };
    while (lift(least) === null) least += 1n;
    const point = lift(least)?.toAffine();
    const [low, high] = [number(point?.y ?? 0n), number(least + field)];
    expect(parsePublicKey(algorithm, `04${number(least)}${low}`).raw).toHaveLength(65);
    for (const form of [
      `02${high}`,
      `04${high}${low}`,
      high + low,
      { kty: 'EC', crv, x: base64Url(high), y: base64Url(low) },
    ])
      expect(() => parsePublicKey(algorithm, form)).toThrow(refused('invalid_point'));
  });

  it.each([
    ['a byte after it', `${spki}00`],
    ['a length in long form', `3081${spki.slice(2)}`],
    ['an indefinite length', `3080${spki.slice(4)}0000`],
    ['an unused bit in its BIT STRING', spki.replace('034200', '034201')],
    ['an OCTET STRING instead', spki.replace('034200', '044200')],
    ['no point', spki.slice(0, -130)],
  ])('is refused in an SPKI with %s', (_, der) => {
    expect(() => parsePublicKey(algorithm, fromHex(der).toString('base64'))).toThrow(refused('malformed'));
  });

  it('is refused in an SPKI that does not name its curve', () => {
    // id-ecPublicKey with a NULL where the name of the curve belongs.
    const unnamed = `3051300b06072a8648ce3d02010500034200${raw}`;
    expect(() => parsePublicKey(algorithm, fromHex(unnamed).toString('base64'))).toThrow(
      refused('malformed'),
    );
  });
});

describe('a text that could be hex or base64', () => {
  it.each(KEY_ALGORITHMS)('is hex where both are possible, for %s', (algorithm) => {
    const { raw } = derivePublicKey(algorithm, generatePrivateKey(algorithm));
    expect(Buffer.from(hex(raw), 'base64').length).toBeGreaterThan(raw.length);
    expect(hex(parsePublicKey(algorithm, hex(raw)).raw)).toBe(hex(raw));
    expect(hex(parsePublicKey(algorithm, hex(raw).toUpperCase()).raw)).toBe(hex(raw));
  });

  it.each(KEY_ALGORITHMS)('never has a length that fits %s both ways', (algorithm: KeyAlgorithm) => {
    const lengths = RAW_KEY_LENGTHS[algorithm];
    const asHex = lengths.map((length) => length * 2);
    const asBase64 = lengths.flatMap((length) => [Math.ceil((length * 4) / 3), Math.ceil(length / 3) * 4]);
    expect(asHex.filter((length) => asBase64.includes(length))).toEqual([]);
  });
});

describe('a JWK with private members', () => {
  const PRIVATE = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k', 'priv'];
  it.each(PRIVATE)('is refused for "%s", whatever its value, with a message that says so', (member) => {
    const jwk = { kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' };
    expect(parsePublicKey('ed25519', jwk).raw).toHaveLength(32);
    for (const value of ['c2VjcmV0', '', null, 0]) {
      const attempt = () => parsePublicKey('ed25519', { ...jwk, [member]: value });
      expect(attempt).toThrow(`private member "${member}": send the public key only, and replace this key`);
      expect(attempt).not.toThrow('c2VjcmV0');
    }
  });
});

it('the SPKI of a bip340 key in either parity gives the same key', () => {
  const key = derivePublicKey('bip340', generatePrivateKey('bip340'));
  const even = Buffer.from(toSpkiDer(key));
  const odd = Buffer.from(even);
  const y = secp256k1.Point.Fp.ORDER - BigInt(`0x${even.toString('hex', even.length - 32)}`);
  fromHex(number(y)).copy(odd, odd.length - 32);
  for (const der of [even, odd]) expect(parsePublicKey('bip340', der.toString('base64'))).toEqual(key);
});
