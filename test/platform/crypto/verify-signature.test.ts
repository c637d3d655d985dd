// The two verifiers against each other, and against signatures that a careless verifier accepts.
import { generateKeyPairSync, sign, verify } from 'node:crypto';
import { ed25519 } from '@noble/curves/ed25519.js';
import { p256 } from '@noble/curves/nist.js';
import { schnorr, secp256k1 } from '@noble/curves/secp256k1.js';
import { bytesToNumberLE, concatBytes, numberToBytesLE } from '@noble/curves/utils.js';
import { sha512 } from '@noble/hashes/sha2.js';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { KEY_ALGORITHMS, type KeyAlgorithm } from '../../../src/platform/crypto/algorithm.ts';
import { encodeBase64 } from '../../../src/platform/crypto/base64.ts';
import { parsePublicKey } from '../../../src/platform/crypto/public-key.ts';
import { decodeSignature } from '../../../src/platform/crypto/signature.ts';
import {
  createSignatureVerifier,
  type SignatureInput,
} from '../../../src/platform/crypto/verify-signature.node.ts';
import { derivePublicKey, generatePrivateKey, signPayload } from './sign.ts';
import { verifySignaturePortable } from './verify-signature-portable.ts';

const verifier = createSignatureVerifier({ keyCacheSize: 50, schnorrThreads: 0 });
afterAll(() => verifier.close());

const payload = new TextEncoder().encode('SERVICE-CHALLENGE-V1\nnonce:00');

async function decide(input: SignatureInput) {
  return { server: await verifier.verifySignature(input), portable: verifySignaturePortable(input) };
}
const ACCEPTED = { server: true, portable: true };
const REFUSED = { server: false, portable: false };

function makeKey(algorithm: KeyAlgorithm) {
  const privateKey = generatePrivateKey(algorithm);
  return { privateKey, publicKey: derivePublicKey(algorithm, privateKey).raw };
}

describe.each(KEY_ALGORITHMS)('%s', (algorithm) => {
  it('accepts what its own key signed, in each form', async () => {
    const { privateKey, publicKey } = makeKey(algorithm);
    for (const form of ['p1363', 'der'] as const) {
      const signature = signPayload(algorithm, privateKey, payload, { form });
      expect(await decide({ algorithm, publicKey, payload, signature })).toEqual(ACCEPTED);
    }
  });

  it('refuses another key, another payload, and bytes that are no key', async () => {
    const { privateKey, publicKey } = makeKey(algorithm);
    const signature = signPayload(algorithm, privateKey, payload);
    const foreign = makeKey(algorithm).publicKey;
    expect(await decide({ algorithm, publicKey: foreign, payload, signature })).toEqual(REFUSED);
    expect(await decide({ algorithm, publicKey, payload: payload.slice(1), signature })).toEqual(REFUSED);
    for (const length of [0, 31, 32, 33, 64, 65]) {
      const noKey = new Uint8Array(length).fill(0xff);
      expect(await decide({ algorithm, publicKey: noKey, payload, signature })).toEqual(REFUSED);
    }
  });

  it('is decided alike on the server and in a browser, whatever was changed', async () => {
    const keys = [makeKey(algorithm), makeKey(algorithm)];
    const change = fc.record({
      signer: fc.nat(1),
      message: fc.uint8Array({ maxLength: 80 }),
      der: fc.boolean(),
      flip: fc.option(
        fc.record({ where: fc.constantFrom('signature', 'payload', 'key'), at: fc.nat(64), bit: fc.nat(7) }),
      ),
    });
    await fc.assert(
      fc.asyncProperty(change, async ({ signer, message, der, flip }) => {
        const { privateKey, publicKey } = keys[signer] ?? makeKey(algorithm);
        const signed = signPayload(algorithm, privateKey, message, { form: der ? 'der' : 'p1363' });
        const parts = {
          signature: Buffer.from(signed, 'base64'),
          payload: Buffer.from(message),
          key: Buffer.from(publicKey),
        };
        const target = flip === null ? null : parts[flip.where as keyof typeof parts];
        if (flip !== null && target !== null && target.length > 0) {
          const at = flip.at % target.length;
          target[at] = (target[at] ?? 0) ^ (1 << flip.bit);
        }
        const isUntouched = target === null || target.length === 0;
        const input = {
          algorithm,
          publicKey: parts.key,
          payload: parts.payload,
          signature: encodeBase64(parts.signature),
        };
        expect(await decide(input)).toEqual(isUntouched ? ACCEPTED : REFUSED);
      }),
      { numRuns: algorithm === 'bip340' ? 40 : 100 },
    );
  });
});

describe.each([
  ['es256', 'P-256', p256.Point.Fn.ORDER],
  ['es256k', 'secp256k1', secp256k1.Point.Fn.ORDER],
] as const)('%s', (algorithm, namedCurve, order) => {
  const pair = generateKeyPairSync('ec', { namedCurve });
  const { raw: publicKey } = parsePublicKey(algorithm, { ...pair.publicKey.export({ format: 'jwk' }) });
  const toHex = (value: bigint) => value.toString(16).padStart(64, '0');

  it('accepts a signature and its high-S twin, made by OpenSSL, as r‖s and as DER', async () => {
    const compact = sign('sha256', payload, { key: pair.privateKey, dsaEncoding: 'ieee-p1363' });
    const twin = order - BigInt(`0x${compact.toString('hex', 32)}`);
    const signatures = [
      compact,
      Buffer.from(compact.toString('hex', 0, 32) + toHex(twin), 'hex'),
      sign('sha256', payload, pair.privateKey),
    ];
    for (const bytes of signatures) {
      expect(await decide({ algorithm, publicKey, payload, signature: bytes.toString('base64') })).toEqual(
        ACCEPTED,
      );
    }
  });

  it.each([
    ['r = 0', 0n, 1n],
    ['s = 0', 1n, 0n],
    ['both zero', 0n, 0n],
    ['r = n', order, 1n],
    ['s = n', 1n, order],
    ['r = n + 1', order + 1n, 1n],
    ['all bits set', (1n << 256n) - 1n, (1n << 256n) - 1n],
  ])('refuses %s', async (_name, r, s) => {
    const signature = Buffer.from(toHex(r) + toHex(s), 'hex').toString('base64');
    expect(await decide({ algorithm, publicKey, payload, signature })).toEqual(REFUSED);
  });
});

describe('ed25519, strictly', () => {
  const { Point } = ed25519;
  const order = Point.Fn.ORDER;
  /** A point of order 8: it vanishes under the cofactor. */
  const torsion = Point.fromHex('26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05');

  it('refuses the same signature with S + L', async () => {
    const { privateKey, publicKey } = makeKey('ed25519');
    const signature = ed25519.sign(payload, privateKey);
    const raised = numberToBytesLE(bytesToNumberLE(signature.subarray(32)) + order, 32);
    const input = { algorithm: 'ed25519', publicKey, payload } as const;
    const shifted = encodeBase64(concatBytes(signature.subarray(0, 32), raised));
    expect(await decide({ ...input, signature: encodeBase64(signature) })).toEqual(ACCEPTED);
    expect(await decide({ ...input, signature: shifted })).toEqual(REFUSED);
  });

  it('refuses what holds only under the cofactor, which noble alone would accept', async () => {
    const { privateKey, publicKey } = makeKey('ed25519');
    const { scalar } = ed25519.utils.getExtendedPublicKey(privateKey);
    const nonce = 12345n;
    const r = Point.BASE.multiply(nonce).add(torsion).toBytes();
    const k = Point.Fn.create(bytesToNumberLE(sha512(concatBytes(r, publicKey, payload))));
    const signature = concatBytes(r, numberToBytesLE(Point.Fn.create(nonce + k * scalar), 32));
    expect(ed25519.verify(signature, payload, publicKey, { zip215: false })).toBe(true);
    const input = { algorithm: 'ed25519', publicKey, payload, signature: encodeBase64(signature) } as const;
    expect(await decide(input)).toEqual(REFUSED);
  });

  it('refuses the signature that fits every payload under the identity as a key, which some versions of Node would accept', async () => {
    const identity = Point.ZERO.toBytes();
    const signature = concatBytes(identity, new Uint8Array(32));
    const key = { kty: 'OKP', crv: 'Ed25519', x: Buffer.from(identity).toString('base64url') };
    // From Node 24 on this is false.
    expect(typeof verify(null, payload, { key, format: 'jwk' }, signature)).toBe('boolean');
    const input = {
      algorithm: 'ed25519',
      publicKey: identity,
      payload,
      signature: encodeBase64(signature),
    } as const;
    expect(await decide(input)).toEqual(REFUSED);
  });
});

describe('bip340, as BIP 340 lists what to refuse', () => {
  const privateKey = generatePrivateKey('bip340');
  const publicKey = derivePublicKey('bip340', privateKey).raw;
  const valid = decodeSignature('bip340', signPayload('bip340', privateKey, payload)) ?? new Uint8Array();
  const order = secp256k1.Point.Fn.ORDER;
  const field = secp256k1.Point.Fp.ORDER;
  const fromHex = (hex: string) => Uint8Array.from(Buffer.from(hex, 'hex'));
  const number = (value: bigint) => fromHex(value.toString(16).padStart(64, '0'));
  const s = BigInt(`0x${Buffer.from(valid.subarray(32)).toString('hex')}`);
  /** The least x without a point on the curve. */
  const OFF_CURVE = 5n;

  it.each([
    ['the negated s', concatBytes(valid.subarray(0, 32), number(order - s))],
    ['s = n', concatBytes(valid.subarray(0, 32), number(order))],
    ['s = 0', concatBytes(valid.subarray(0, 32), number(0n))],
    ['an r that is no x coordinate', concatBytes(number(OFF_CURVE), valid.subarray(32))],
    ['r = p', concatBytes(number(field), valid.subarray(32))],
    ['r = 0', concatBytes(number(0n), valid.subarray(32))],
    ['an R at infinity', concatBytes(number(1n), number(challengeScalar(number(1n))))],
    ['an R with an odd y', signWithNonce('odd')],
  ])('refuses %s', async (_name, bytes) => {
    expect(await decide({ algorithm: 'bip340', publicKey, payload, signature: encodeBase64(bytes) })).toEqual(
      REFUSED,
    );
  });

  it('accepts the same construction with an even y', async () => {
    const signature = encodeBase64(signWithNonce('even'));
    expect(await decide({ algorithm: 'bip340', publicKey, payload, signature })).toEqual(ACCEPTED);
  });

  it.each([
    ['off the curve', number(OFF_CURVE)],
    ['beyond the field', number(field + 1n)],
  ])('refuses a key %s', async (_name, key) => {
    const input = { algorithm: 'bip340', publicKey: key, payload, signature: encodeBase64(valid) } as const;
    expect(await decide(input)).toEqual(REFUSED);
  });

  /** The private scalar whose point has an even y. */
  function evenScalar(): bigint {
    const scalar = BigInt(`0x${Buffer.from(privateKey).toString('hex')}`);
    return (secp256k1.Point.BASE.multiply(scalar).toAffine().y & 1n) === 0n ? scalar : order - scalar;
  }

  /** e·d over the payload itself, so that s·G − e·P is the point at infinity. */
  function challengeScalar(r: Uint8Array): bigint {
    const hash = schnorr.utils.taggedHash('BIP0340/challenge', r, publicKey, payload);
    return (BigInt(`0x${Buffer.from(hash).toString('hex')}`) * evenScalar()) % order;
  }

  function signWithNonce(parity: 'even' | 'odd'): Uint8Array {
    const wanted = parity === 'odd' ? 1n : 0n;
    let nonce = 2n;
    while ((secp256k1.Point.BASE.multiply(nonce).toAffine().y & 1n) !== wanted) nonce += 1n;
    const r = number(secp256k1.Point.BASE.multiply(nonce).toAffine().x);
    return concatBytes(r, number((nonce + challengeScalar(r)) % order));
  }
});
