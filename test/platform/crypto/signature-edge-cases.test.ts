// Signatures on the border of what is accepted, that no published file has, through both verifiers: which bytes bip340
// signs, which form an ECDSA signature has, and what is odd about ed25519 points and still one answer everywhere.
import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import { ed25519 } from '@noble/curves/ed25519.js';
import { p256 } from '@noble/curves/nist.js';
import { schnorr, secp256k1 } from '@noble/curves/secp256k1.js';
import { bytesToNumberLE, concatBytes, numberToBytesLE } from '@noble/curves/utils.js';
import { sha512 } from '@noble/hashes/sha2.js';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { encodeBase64 } from '../../../src/platform/crypto/base64.ts';
import { isCanonicalPublicKey, parsePublicKey } from '../../../src/platform/crypto/public-key.ts';
import {
  createSignatureVerifier,
  type SignatureInput,
} from '../../../src/platform/crypto/verify-signature.node.ts';
import { derivePublicKey, encodeDerSignature, generatePrivateKey } from './sign.ts';
import { verifySignaturePortable } from './verify-signature-portable.ts';

const verifier = createSignatureVerifier({ schnorrThreads: 0 });
afterAll(() => verifier.close());

/** What both verifiers say, which must be the same. */
async function decide(input: Omit<SignatureInput, 'signature'> & { signature: Uint8Array }) {
  const encoded = { ...input, signature: encodeBase64(input.signature) };
  const [server, portable] = [await verifier.verifySignature(encoded), verifySignaturePortable(encoded)];
  expect(server).toBe(portable);
  return server;
}

const payload = new TextEncoder().encode('SERVICE-CHALLENGE-V1\nnonce:00');
const sha256 = (data: Uint8Array) => new Uint8Array(createHash('sha256').update(data).digest());
const fromHex = (text: string) => Uint8Array.from(Buffer.from(text, 'hex'));
const number = (value: bigint) => fromHex(value.toString(16).padStart(64, '0'));
const toNumber = (bytes: Uint8Array) => BigInt(`0x${Buffer.from(bytes).toString('hex')}`);

describe('bip340 signs the payload or its SHA-256', () => {
  const privateKey = generatePrivateKey('bip340');
  const publicKey = derivePublicKey('bip340', privateKey).raw;

  it.each([
    ['the SHA-256 of the payload', true, sha256(payload)],
    ['the payload itself', true, payload],
    ['the SHA-256 of its SHA-256', false, sha256(sha256(payload))],
    ['the SHA-256 as hex', false, new TextEncoder().encode(Buffer.from(sha256(payload)).toString('hex'))],
    ['the payload and a line feed', false, concatBytes(payload, Uint8Array.of(10))],
    ['nothing', false, new Uint8Array()],
  ])('%s: %s', async (_, isAccepted, message) => {
    const signature = schnorr.sign(message, privateKey);
    expect(await decide({ algorithm: 'bip340', publicKey, payload, signature })).toBe(isAccepted);
  });

  it('but is not an ECDSA signature of the same key, in either form', async () => {
    const compact = secp256k1.sign(payload, privateKey, { prehash: true, format: 'compact' });
    for (const signature of [compact, encodeDerSignature(compact)])
      expect(await decide({ algorithm: 'bip340', publicKey, payload, signature })).toBe(false);
  });
});

describe.each([
  ['es256', 'P-256', p256.Point],
  ['es256k', 'secp256k1', secp256k1.Point],
] as const)('%s', (algorithm, namedCurve, Point) => {
  const order = Point.Fn.ORDER;
  const half = order >> 1n;

  /** A key for which (r, s) is a signature over the payload, for any s: Q = r⁻¹·(s·R − z·G). */
  function keyFor(s: bigint) {
    const nonce = Point.BASE.multiply(7n);
    const r = nonce.toAffine().x % order;
    const z = toNumber(sha256(payload)) % order;
    const sum = nonce.multiplyUnsafe(s).subtract(Point.BASE.multiplyUnsafe(z));
    const publicKey = sum.multiplyUnsafe(Point.Fn.inv(r)).toBytes(false);
    return { publicKey, signature: concatBytes(number(r), number(s)) };
  }

  it.each([
    ['1', 1n],
    ['255', 255n],
    ['of 16 bytes', 2n ** 127n],
    ['of half the order', half],
    ['of half the order and one', half + 1n],
    ['one below the order', order - 1n],
  ])('accepts an s that is %s, as r‖s and as DER, however short that is', async (_, s) => {
    const { publicKey, signature } = keyFor(s);
    const der = encodeDerSignature(signature);
    expect(await decide({ algorithm, publicKey, payload, signature })).toBe(true);
    expect(await decide({ algorithm, publicKey, payload, signature: der })).toBe(true);
  });

  it.each([
    ['with a zero before s that is not needed', (der: number[]) => [...der.slice(0, -3), 2, 2, 0, 1]],
    ['with its zeros kept', (der: number[]) => [...der.slice(0, -3), 2, 32, ...Array(31).fill(0), 1]],
    ['with a byte after it', (der: number[]) => [...der, 0]],
    ['with a second signature after it', (der: number[]) => [...der, ...der]],
    ['with a negative s', (der: number[]) => [...der.slice(0, -1), 0x81]],
  ])('refuses the same DER %s', async (_, change) => {
    const { publicKey, signature } = keyFor(1n);
    const der = change([...encodeDerSignature(signature)]);
    if (der.length < 64) der[1] = der.length - 2;
    expect(await decide({ algorithm, publicKey, payload, signature: Uint8Array.from(der) })).toBe(false);
  });

  it('refuses r‖s that is shortened, padded, or swapped', async () => {
    const { publicKey, signature } = keyFor(half);
    for (const changed of [
      signature.subarray(0, 63),
      concatBytes(Uint8Array.of(0), signature),
      concatBytes(signature, Uint8Array.of(0)),
      concatBytes(Uint8Array.of(0), signature.subarray(0, 32), Uint8Array.of(0), signature.subarray(32)),
      concatBytes(signature.subarray(32), signature.subarray(0, 32)),
      new TextEncoder().encode(Buffer.from(signature).toString('hex')),
    ])
      expect(await decide({ algorithm, publicKey, payload, signature: changed })).toBe(false);
  });

  it('accepts whatever OpenSSL signs, low S and high S, in both forms', async () => {
    const pair = generateKeyPairSync('ec', { namedCurve });
    const { raw: publicKey } = parsePublicKey(algorithm, { ...pair.publicKey.export({ format: 'jwk' }) });
    const key = { key: pair.privateKey, dsaEncoding: 'ieee-p1363' } as const;
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), async (message) => {
        const made = sign('sha256', message, key);
        const s = toNumber(made.subarray(32));
        for (const twin of [s, order - s]) {
          const signature = concatBytes(made.subarray(0, 32), number(twin));
          const input = { algorithm, publicKey, payload: message };
          expect(await decide({ ...input, signature })).toBe(true);
          expect(await decide({ ...input, signature: encodeDerSignature(signature) })).toBe(true);
        }
      }),
      { numRuns: 25 },
    );
  });
});

describe('ed25519', () => {
  const { Point } = ed25519;
  const order = Point.Fn.ORDER;
  const torsion = Point.fromHex('26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05');
  const seed = generatePrivateKey('ed25519');
  const { scalar } = ed25519.utils.getExtendedPublicKey(seed);
  const own = derivePublicKey('ed25519', seed).raw;
  const challengeOf = (r: Uint8Array, key: Uint8Array) =>
    Point.Fn.create(bytesToNumberLE(sha512(concatBytes(r, key, payload))));
  const IDENTITY = Point.ZERO.toBytes();

  it('refuses an R that is the identity, in each of its encodings', async () => {
    const field = Point.Fp.ORDER;
    const raised = numberToBytesLE(field + 1n, 32);
    const signed = (bytes: Uint8Array) => bytes.with(31, (bytes[31] ?? 0) | 0x80);
    for (const r of [IDENTITY, signed(IDENTITY), raised, signed(raised)]) {
      const s = Point.Fn.create(challengeOf(r, own) * scalar);
      const signature = concatBytes(r, numberToBytesLE(s, 32));
      expect(await decide({ algorithm: 'ed25519', publicKey: own, payload, signature })).toBe(false);
    }
  });

  it('refuses every R of small order, with a key for which the equation holds', async () => {
    const torsion = Point.fromHex('c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a');
    for (const [order, part] of Array.from({ length: 8 }, (_, index) =>
      torsion.multiplyUnsafe(BigInt(index)),
    ).entries()) {
      const r = part.toBytes();
      // With a key that has a part of order eight, some payload fits each R.
      const mixed = Point.fromBytes(own).add(torsion);
      for (let count = 0; ; count += 1) {
        const text = new TextEncoder().encode(`payload ${count}`);
        const k = Point.Fn.create(bytesToNumberLE(sha512(concatBytes(r, mixed.toBytes(), text))));
        if ((BigInt(order) + k) % 8n !== 0n) continue;
        const s = Point.Fn.create(k * scalar);
        expect(Point.BASE.multiply(s).subtract(mixed.multiplyUnsafe(k)).equals(part)).toBe(true);
        const signature = concatBytes(r, numberToBytesLE(s, 32));
        expect(
          await decide({ algorithm: 'ed25519', publicKey: mixed.toBytes(), payload: text, signature }),
        ).toBe(false);
        break;
      }
    }
  });

  it('refuses every S from the order on, also with bits that some decoders drop', async () => {
    const signature = ed25519.sign(payload, seed);
    const s = bytesToNumberLE(signature.subarray(32));
    const raise = (by: bigint) => concatBytes(signature.subarray(0, 32), numberToBytesLE(s + by, 32));
    const multiples = Array.from({ length: 15 }, (_, index) => order * BigInt(index + 1));
    for (const by of [...multiples, 2n ** 253n, 2n ** 254n, 2n ** 255n])
      expect(
        await decide({ algorithm: 'ed25519', publicKey: own, payload, signature: raise(by) }),
        String(by),
      ).toBe(false);
    for (const value of [0n, order, order - 1n]) {
      const changed = concatBytes(signature.subarray(0, 32), numberToBytesLE(value, 32));
      expect(await decide({ algorithm: 'ed25519', publicKey: own, payload, signature: changed })).toBe(false);
    }
  });

  it('decides alike on a key with a part of small order, whatever the part of R', async () => {
    const mixed = Point.BASE.multiply(scalar).add(torsion).toBytes();
    expect(isCanonicalPublicKey('ed25519', mixed)).toBe(true);
    const decided: boolean[] = [];
    for (let nonce = 1n; nonce <= 32n; nonce++) {
      const part = torsion.multiplyUnsafe(nonce % 8n);
      const r = Point.BASE.multiply(nonce).subtract(part).toBytes();
      const k = challengeOf(r, mixed);
      const signature = concatBytes(r, numberToBytesLE(Point.Fn.create(nonce + k * scalar), 32));
      const isAccepted = await decide({ algorithm: 'ed25519', publicKey: mixed, payload, signature });
      expect(isAccepted).toBe(k % 8n === nonce % 8n);
      decided.push(isAccepted);
    }
    expect(decided).toContain(false);
  });
});
