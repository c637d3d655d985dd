// Every form of a public key, and every key that must not be accepted.
import { createHash, createPublicKey, generateKeyPairSync } from 'node:crypto';
import fc from 'fast-check';
import { calculateJwkThumbprint } from 'jose';
import { describe, expect, it } from 'vitest';
import { KEY_ALGORITHMS, type KeyAlgorithm } from '../../../src/platform/crypto/algorithm.ts';
import { encodeBase64, encodeBase64Url } from '../../../src/platform/crypto/base64.ts';
import { compressPoint } from '../../../src/platform/crypto/curve.ts';
import {
  fingerprint,
  fingerprintAliases,
  isCanonicalPublicKey,
  jwkThumbprint,
  type PublicKey,
  parsePublicKey,
  toJwk,
  toSpkiDer,
} from '../../../src/platform/crypto/public-key.ts';
import { derivePublicKey } from './sign.ts';

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

const privateKeys = fc
  .uint8Array({ minLength: 32, maxLength: 32 })
  // Below the order of either curve, and not zero.
  .map((bytes) => bytes.with(0, 0x7f));
const anyKey = fc
  .tuple(fc.constantFrom(...KEY_ALGORITHMS), privateKeys)
  .map(([algorithm, privateKey]) => derivePublicKey(algorithm, privateKey));

/** Hex in both cases, and base64 in both alphabets, padded and not. */
function encodings(bytes: Uint8Array): string[] {
  const base64 = encodeBase64(bytes);
  return [
    hex(bytes),
    hex(bytes).toUpperCase(),
    base64,
    base64.replace(/=+$/, ''),
    encodeBase64Url(bytes),
    ` ${hex(bytes)}\n`,
  ];
}

/** The raw forms that an algorithm takes, beyond the canonical one. */
function rawForms({ algorithm, raw }: PublicKey): Uint8Array[] {
  if (algorithm === 'ed25519') return [raw];
  if (algorithm === 'bip340') return [raw, Uint8Array.of(0x02, ...raw), Uint8Array.of(0x03, ...raw)];
  return [raw, raw.subarray(1), compressPoint(raw)];
}

function toPem(der: Uint8Array): string {
  const lines = encodeBase64(der).match(/.{1,64}/g) ?? [];
  return `-----BEGIN PUBLIC KEY-----\n${lines.join('\n')}\n-----END PUBLIC KEY-----\n`;
}

const compressedSpki = (key: PublicKey, point: Uint8Array) => {
  const prefix =
    key.algorithm === 'es256'
      ? '3039301306072a8648ce3d020106082a8648ce3d030107032200'
      : '3036301006072a8648ce3d020106052b8104000a032200';
  return Uint8Array.from(Buffer.from(prefix + hex(point), 'hex'));
};

describe('a public key', () => {
  it('has one fingerprint in every form', () => {
    fc.assert(
      fc.property(anyKey, (key) => {
        const der = toSpkiDer(key);
        const jwk = toJwk(key);
        const forms = [
          ...rawForms(key).flatMap(encodings),
          encodeBase64(der),
          encodeBase64Url(der),
          toPem(der),
          toPem(der).replaceAll('\n', '\r\n'),
          `Key of the buyer\n\n${toPem(der)}`,
          jwk,
          { ...jwk, use: 'sig', kid: 'k1', key_ops: ['verify'], ext: true },
        ];
        if (key.algorithm !== 'ed25519') {
          const [point] = rawForms(key).filter((form) => form.length === 33);
          if (point !== undefined) forms.push(encodeBase64(compressedSpki(key, point)));
        }
        for (const form of forms) {
          const parsed = parsePublicKey(key.algorithm, form as string);
          expect(parsed).toEqual(key);
          expect(fingerprint(parsed.raw)).toBe(sha256(key.raw));
        }
        expect(isCanonicalPublicKey(key.algorithm, key.raw)).toBe(true);
      }),
      { numRuns: 60 },
    );
  });

  it.each([
    ['ed25519', 'ed25519', {}],
    ['es256', 'ec', { namedCurve: 'P-256' }],
    ['es256k', 'ec', { namedCurve: 'secp256k1' }],
  ] as const)(
    'has the JWK, SPKI and thumbprint that others compute: %s',
    async (algorithm, type, options) => {
      const { publicKey } = generateKeyPairSync(type as 'ec', options as { namedCurve: string });
      const jwk = publicKey.export({ format: 'jwk' });
      const der = publicKey.export({ format: 'der', type: 'spki' });
      const key = parsePublicKey(algorithm, publicKey.export({ format: 'pem', type: 'spki' }).toString());
      expect(toJwk(key)).toEqual(jwk);
      expect(hex(toSpkiDer(key))).toBe(hex(der));
      expect(jwkThumbprint(key)).toBe(await calculateJwkThumbprint({ ...jwk } as { kty: string }));
      expect(fingerprint(key.raw)).toBe(sha256(der.subarray(der.length - key.raw.length)));
      expect(fingerprintAliases(key)[0]).toBe(sha256(der));
    },
  );

  it('is given as its even point for bip340, which Node.js can import', () => {
    const key = parsePublicKey('bip340', 'f9308a019258c31049344f85f89d5229b531c845836f99b08601f113bce036f9');
    const point = createPublicKey({ key: { ...toJwk(key) }, format: 'jwk' }).export({ format: 'jwk' });
    expect(Buffer.from(point.x ?? '', 'base64url').toString('hex')).toBe(hex(key.raw));
    expect((Buffer.from(point.y ?? '', 'base64url').at(-1) ?? 1) % 2).toBe(0);
    expect(fingerprintAliases(key)[1]).toBe(sha256(Uint8Array.of(0x02, ...key.raw)));
  });

  it.each([0x02, 0x03])('of bip340 has the aliases of the point with the first byte %d', (first) => {
    const { raw } = derivePublicKey('bip340', new Uint8Array(32).fill(7));
    const point = Uint8Array.of(first, ...raw);
    const whole = parsePublicKey('es256k', hex(point));
    const aliases = fingerprintAliases({ algorithm: 'bip340', raw });
    expect(aliases).toHaveLength(4);
    expect(aliases).toEqual(expect.arrayContaining([sha256(point), sha256(toSpkiDer(whole))]));
  });
});

/** RFC 8032 key, RFC 6979 key, and BIP 340 key, as raw hex. */
const ED25519 = 'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a';
const P256 =
  '0460fed4ba255a9d31c961eb74c6356d68c049b8923b61fa6ce669622e60f29fb6' +
  '7903fe1008b8bc99a41ae9e95628bc64f2f1b20c2d7e9f5177a3c294d4462299';
const K256 =
  '0479be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798' +
  '483ada7726a3c4655da4fbfc0e1108a8fd17b448a68554199c47d08ffb10d4b8';
const bytes = (text: string) => Uint8Array.from(Buffer.from(text, 'hex'));
const spki = (algorithm: KeyAlgorithm, raw: string) =>
  encodeBase64(toSpkiDer({ algorithm, raw: bytes(raw) }));
const jwkOf = (algorithm: KeyAlgorithm, raw: string) => ({ ...toJwk({ algorithm, raw: bytes(raw) }) });

describe('a PEM as shells and environment files leave it', () => {
  const pem = generateKeyPairSync('ed25519')
    .publicKey.export({ format: 'pem', type: 'spki' })
    .toString()
    .trim();
  it.each([
    ['\\n as two characters', pem.replaceAll('\n', '\\n'), /has \\n as two characters/],
    ['quotation marks', `"${pem}"`, /in quotation marks/],
    ['no line feeds', pem.replaceAll('\n', ''), /whose line feeds were removed/],
    ['base64 around it', Buffer.from(pem).toString('base64'), /is a PEM in base64/],
    ['another block before it', pem.replaceAll('PUBLIC KEY', 'CERTIFICATE'), /is not one PEM block/],
    ['text behind it', `${pem}\nend`, /is not one PEM block/],
  ])('is refused by name with %s', (_name, text, fault) => {
    expect(() => parsePublicKey('ed25519', text)).toThrow(fault);
  });

  it('is refused as a private key in base64 too', () => {
    const { privateKey } = generateKeyPairSync('ed25519');
    const text = privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
    expect(() => parsePublicKey('ed25519', Buffer.from(text).toString('base64'))).toThrow(/private key/);
  });
});

describe('a key of another algorithm is refused by name', () => {
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey;
  const p384 = generateKeyPairSync('ec', { namedCurve: 'P-384' }).publicKey;
  const x25519 = generateKeyPairSync('x25519').publicKey;
  it.each([
    ['es256', spki('ed25519', ED25519), /is an ed25519 key, but algorithm is es256/],
    ['ed25519', spki('es256', P256), /is a P-256 \(es256\) key, but algorithm is ed25519/],
    ['es256', jwkOf('es256k', K256), /is a secp256k1 \(es256k or bip340\) key, but algorithm is es256/],
    ['bip340', jwkOf('es256', P256), /P-256 .* but algorithm is bip340/],
    ['es256', K256, /is a secp256k1 .* key, but algorithm is es256/],
    ['es256k', P256.slice(2), /is a P-256 .* key, but algorithm is es256k/],
    ['ed25519', P256, /has 65 bytes, .* a raw ed25519 key has 32/],
    ['es256', ED25519, /has 32 bytes, .* a raw es256 key has 33 or 64 or 65/],
    ['bip340', { ...jwkOf('es256k', K256), alg: 'ES256K' }, /alg is for es256k, but algorithm is bip340/],
    ['es256', { ...jwkOf('es256', P256), alg: 'RS256' }, /alg that is not supported/],
    ['es256', { ...jwkOf('es256', P256), alg: 'toString' }, /alg that is not supported/],
    ['es256', rsa.export({ format: 'pem', type: 'spki' }).toString(), /another kind \(RSA\)/],
    ['es256', rsa.export({ format: 'der', type: 'spki' }).toString('base64'), /another kind \(RSA\)/],
    ['es256', { ...rsa.export({ format: 'jwk' }) }, /another kind \(RSA\)/],
    ['es256', p384.export({ format: 'pem', type: 'spki' }).toString(), /another kind \(P-384\)/],
    ['es256', { ...p384.export({ format: 'jwk' }) }, /another kind/],
    ['ed25519', x25519.export({ format: 'pem', type: 'spki' }).toString(), /another kind \(X25519\)/],
    ['ed25519', { ...x25519.export({ format: 'jwk' }) }, /another kind/],
  ] as const)('%s', (algorithm, input, message) => {
    const refusal = expect.objectContaining({
      reason: 'wrong_algorithm',
      message: expect.stringMatching(message),
    });
    const lengthRefusal = expect.objectContaining({
      reason: 'malformed',
      message: expect.stringMatching(message),
    });
    const isLength = message.source.startsWith('has');
    expect(() => parsePublicKey(algorithm, input)).toThrow(isLength ? lengthRefusal : refusal);
  });
});

describe('a private key is refused, and not repeated', () => {
  const ed = generateKeyPairSync('ed25519').privateKey;
  const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
  const forms = [
    ['ed25519', { ...ed.export({ format: 'jwk' }) }, String(ed.export({ format: 'jwk' }).d)],
    ['es256', { ...ec.export({ format: 'jwk' }) }, String(ec.export({ format: 'jwk' }).d)],
    ['es256', { ...ec.export({ format: 'jwk' }), d: undefined }, 'undefined'],
    ['ed25519', { kty: 'oct', k: 'c2VjcmV0' }, 'c2VjcmV0'],
    ['ed25519', { kty: 'AKP', priv: 'c2VjcmV0' }, 'c2VjcmV0'],
    ['ed25519', ed.export({ format: 'pem', type: 'pkcs8' }).toString(), 'MC4CAQ'],
    ['es256', ec.export({ format: 'pem', type: 'sec1' }).toString(), 'MHcCAQ'],
    ['es256', ec.export({ format: 'der', type: 'pkcs8' }).toString('base64'), 'MIGHAg'],
    ['es256', ec.export({ format: 'der', type: 'sec1' }).toString('base64'), 'MHcCAQ'],
    ['ed25519', ed.export({ format: 'der', type: 'pkcs8' }).toString('base64'), 'MC4CAQ'],
  ] as const;
  it.each(forms)('%s', (algorithm, input, secret) => {
    const message = expect.stringMatching(/private/);
    expect(() => parsePublicKey(algorithm, input)).toThrow(
      expect.objectContaining({ reason: 'private_key', message }),
    );
    expect(() => parsePublicKey(algorithm, input)).not.toThrow(secret);
  });
});

it.each([
  ['ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBEZUbkcuPxqhecApC45Dv7V2sWKpJ4V/Iu22Pw6w7mz me@host', 'tail -c 32'],
  ['ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTY= me@host', 'ssh-keygen -e -m PKCS8'],
])('an OpenSSH key is refused with the command that converts it: %s', (text, command) => {
  const message = expect.stringContaining(command);
  expect(() => parsePublicKey('ed25519', text)).toThrow(expect.objectContaining({ message }));
});

describe('a malformed key is refused', () => {
  const jwk = jwkOf('es256', P256);
  const pem = toPem(toSpkiDer({ algorithm: 'es256', raw: bytes(P256) }));
  it.each([
    ['es256', ''],
    ['es256', '!'],
    ['es256', 'a'.repeat(5000)],
    ['es256', JSON.stringify(jwk)],
    ['es256', `${P256}00`],
    ['es256', P256.slice(0, -1)],
    ['es256', `05${P256.slice(2)}`],
    ['es256', `06${P256.slice(2)}`],
    ['es256', `${spki('es256', P256).slice(0, -4)}`],
    ['es256', encodeBase64(Uint8Array.of(...toSpkiDer({ algorithm: 'es256', raw: bytes(P256) }), 0))],
    ['es256', pem + pem],
    ['es256', pem.replaceAll('PUBLIC KEY', 'CERTIFICATE')],
    ['es256', pem.replace('-----END PUBLIC KEY-----', '')],
    ['es256', {}],
    ['es256', { kty: 'EC' }],
    ['es256', { ...jwk, y: undefined }],
    ['es256', { ...jwk, x: `${jwk.x}=` }],
    ['es256', { ...jwk, x: jwk.x.slice(0, -2) }],
    ['es256', { ...jwk, x: 7 }],
    ['es256', { ...jwk, kty: 'OKP' }],
    ['es256', { ...jwk, use: 'enc' }],
    ['es256', { ...jwk, key_ops: ['sign'] }],
    ['es256', { ...jwk, key_ops: [] }],
    ['es256', { ...jwk, key_ops: 'verify' }],
    ['es256', { ...jwk, key_ops: null }],
    ['ed25519', `${ED25519}${ED25519}`],
  ] as const)('%s: %j', (algorithm, input) => {
    expect(() => parsePublicKey(algorithm, input)).toThrow(
      expect.objectContaining({ name: 'PublicKeyError' }),
    );
  });

  it('whatever the text is, with nothing but a PublicKeyError', () => {
    const text = fc.oneof(
      fc.string(),
      fc.base64String(),
      fc.stringMatching(/^[0-9a-f]{64,66}$/),
      fc.constant(pem).map((p) => p.slice(9)),
    );
    fc.assert(
      fc.property(
        fc.constantFrom(...KEY_ALGORITHMS),
        fc.oneof(text, fc.dictionary(fc.constantFrom('kty', 'crv', 'x', 'y', 'alg'), text)),
        (algorithm, input) => {
          try {
            parsePublicKey(algorithm, input);
          } catch (error) {
            expect(error).toMatchObject({ name: 'PublicKeyError' });
          }
        },
      ),
    );
  });
});
