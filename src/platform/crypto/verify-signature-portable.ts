// Verifies signatures with JavaScript alone, for browsers and other runtimes without node:crypto. A property test
// checks that it decides as verify-signature.node.ts does.
import { ed25519 } from '@noble/curves/ed25519.js';
import { p256 } from '@noble/curves/nist.js';
import { schnorr, secp256k1 } from '@noble/curves/secp256k1.js';
import { sha256, sha512 } from '@noble/hashes/sha2.js';
import { bytesToHex, concatBytes } from '@noble/hashes/utils.js';
import type { KeyAlgorithm } from './algorithm.ts';
import { isCanonicalPublicKey } from './public-key.ts';
import { decodeSignature } from './signature.ts';

/**
 * `publicKey`: canonical raw bytes, as `parsePublicKey` gives them. `payload`: the exact bytes that were signed.
 * `signature`: base64 in any of the accepted forms.
 */
export type SignatureInput = {
  readonly algorithm: KeyAlgorithm;
  readonly publicKey: Uint8Array;
  readonly payload: Uint8Array;
  readonly signature: string;
};

type Verify = (signature: Uint8Array, payload: Uint8Array, publicKey: Uint8Array) => boolean;

/** noble refuses high S by default; a high-S ECDSA signature is as valid as its twin, and most signers make both. */
const ECDSA = { prehash: true, lowS: false, format: 'compact' } as const;

const VERIFY: Readonly<Record<KeyAlgorithm, Verify>> = {
  ed25519: verifyEd25519,
  es256: (signature, payload, publicKey) => p256.verify(signature, payload, publicKey, ECDSA),
  es256k: (signature, payload, publicKey) => secp256k1.verify(signature, payload, publicKey, ECDSA),
  bip340: verifyBip340,
};

/**
 * Whether the signature is this key's over the payload: ed25519 over the payload (strict RFC 8032), es256 and es256k
 * over its SHA-256 (`r‖s` or DER, high S too), bip340 over its SHA-256 or over the payload itself.
 * @returns false for a malformed signature or key too; it does not throw.
 */
export function verifySignaturePortable(input: SignatureInput): boolean {
  const { algorithm, publicKey, payload } = input;
  const signature = decodeSignature(algorithm, input.signature);
  if (signature === null || !isCanonicalPublicKey(algorithm, publicKey)) return false;
  return VERIFY[algorithm](signature, payload, publicKey);
}

/**
 * BIP 340 over the SHA-256 of the payload as the 32-byte message, or else over the payload as the message.
 * @param signature 64 bytes. @param publicKey 32 bytes, x-only.
 */
export function verifyBip340(signature: Uint8Array, payload: Uint8Array, publicKey: Uint8Array): boolean {
  return (
    schnorr.verify(signature, sha256(payload), publicKey) || schnorr.verify(signature, payload, publicKey)
  );
}

/**
 * RFC 8032 §5.1.7 without the cofactor, as OpenSSL does it: R is compared as bytes with `S·B − k·A`, which no
 * non-canonical R can equal. noble's own verify multiplies by the cofactor, and so accepts signatures that OpenSSL
 * refuses.
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
