// Verifies signatures without node:crypto: an independent judge of verify-signature.node.ts.
import { ed25519 } from '@noble/curves/ed25519.js';
import { p256 } from '@noble/curves/nist.js';
import { schnorr, secp256k1 } from '@noble/curves/secp256k1.js';
import { sha256, sha512 } from '@noble/hashes/sha2.js';
import { bytesToHex, concatBytes } from '@noble/hashes/utils.js';
import type { KeyAlgorithm } from '../../../src/platform/crypto/algorithm.ts';
import { isCanonicalPublicKey } from '../../../src/platform/crypto/public-key.ts';
import { decodeSignature } from '../../../src/platform/crypto/signature.ts';
import type { SignatureInput } from '../../../src/platform/crypto/verify-signature.node.ts';

type Verify = (signature: Uint8Array, payload: Uint8Array, publicKey: Uint8Array) => boolean;

/** noble refuses high S by default, but such ECDSA signatures are valid too, and most signers make them. */
const ECDSA = { prehash: true, lowS: false, format: 'compact' } as const;

const VERIFY: Readonly<Record<KeyAlgorithm, Verify>> = {
  ed25519: verifyEd25519,
  es256: (signature, payload, publicKey) => p256.verify(signature, payload, publicKey, ECDSA),
  es256k: (signature, payload, publicKey) => secp256k1.verify(signature, payload, publicKey, ECDSA),
  bip340: (signature, payload, publicKey) =>
    [sha256(payload), payload].some((message) => schnorr.verify(signature, message, publicKey)),
};

/**
 * True when the key signed the payload: ed25519 over the payload (strict RFC 8032), es256 and es256k over its SHA-256
 * (`r‖s` or DER, high S too), bip340 over its SHA-256 or over the payload itself.
 * @returns false also for a malformed signature or key; it does not throw
 */
export function verifySignaturePortable(input: SignatureInput): boolean {
  const { algorithm, publicKey, payload } = input;
  const signature = decodeSignature(algorithm, input.signature);
  if (signature === null || !isCanonicalPublicKey(algorithm, publicKey)) return false;
  return VERIFY[algorithm](signature, payload, publicKey);
}

/**
 * RFC 8032 §5.1.7 without the cofactor, like OpenSSL: R is compared as bytes with `S·B − k·A`, so a non-canonical R
 * never matches. noble's own verify multiplies by the cofactor, and so accepts signatures that OpenSSL refuses.
 */
function verifyEd25519(signature: Uint8Array, payload: Uint8Array, publicKey: Uint8Array): boolean {
  const { Point } = ed25519;
  const r = signature.subarray(0, 32);
  const s = readLittleEndian(signature.subarray(32));
  if (s >= Point.Fn.ORDER) return false;
  const k = Point.Fn.create(readLittleEndian(sha512(concatBytes(r, publicKey, payload))));
  const expected = Point.BASE.multiplyUnsafe(s).subtract(Point.fromBytes(publicKey).multiplyUnsafe(k));
  return bytesToHex(expected.toBytes()) === bytesToHex(r);
}

function readLittleEndian(bytes: Uint8Array): bigint {
  return BigInt(`0x${bytesToHex(Uint8Array.from(bytes).reverse())}`);
}
