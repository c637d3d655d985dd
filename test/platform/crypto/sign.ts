// Makes private keys and signatures of all four algorithms; the service only verifies.
import { ed25519 } from '@noble/curves/ed25519.js';
import { p256 } from '@noble/curves/nist.js';
import { schnorr, secp256k1 } from '@noble/curves/secp256k1.js';
import { sha256 } from '@noble/hashes/sha2.js';
import type { KeyAlgorithm } from '../../../src/platform/crypto/algorithm.ts';
import { encodeBase64 } from '../../../src/platform/crypto/base64.ts';
import type { PublicKey } from '../../../src/platform/crypto/public-key.ts';

type Signer = {
  readonly generate: () => Uint8Array;
  readonly derive: (privateKey: Uint8Array) => Uint8Array;
  readonly sign: (payload: Uint8Array, privateKey: Uint8Array) => Uint8Array;
};

const ECDSA = { prehash: true, format: 'compact' } as const;

const SIGNERS: Readonly<Record<KeyAlgorithm, Signer>> = {
  ed25519: {
    generate: () => ed25519.utils.randomSecretKey(),
    derive: (privateKey) => ed25519.getPublicKey(privateKey),
    sign: (payload, privateKey) => ed25519.sign(payload, privateKey),
  },
  es256: {
    generate: () => p256.utils.randomSecretKey(),
    derive: (privateKey) => p256.getPublicKey(privateKey, false),
    sign: (payload, privateKey) => p256.sign(payload, privateKey, ECDSA),
  },
  es256k: {
    generate: () => secp256k1.utils.randomSecretKey(),
    derive: (privateKey) => secp256k1.getPublicKey(privateKey, false),
    sign: (payload, privateKey) => secp256k1.sign(payload, privateKey, ECDSA),
  },
  bip340: {
    generate: () => schnorr.utils.randomSecretKey(),
    derive: (privateKey) => schnorr.getPublicKey(privateKey),
    sign: (payload, privateKey) => schnorr.sign(sha256(payload), privateKey),
  },
};

/** Makes a private key from the platform's secure random source: 32 bytes (the RFC 8032 seed, or the scalar). */
export function generatePrivateKey(algorithm: KeyAlgorithm): Uint8Array {
  return SIGNERS[algorithm].generate();
}

/** @returns the public key with its canonical raw bytes */
export function derivePublicKey(algorithm: KeyAlgorithm, privateKey: Uint8Array): PublicKey {
  return { algorithm, raw: SIGNERS[algorithm].derive(privateKey) };
}

/**
 * Signs a payload: ed25519 over the bytes, es256 and es256k over their SHA-256, bip340 over their SHA-256 as its
 * message.
 * @param form of an ECDSA signature: `r‖s` (the default) or DER; the other algorithms have one form
 * @returns the signature in standard base64 with padding
 */
export function signPayload(
  algorithm: KeyAlgorithm,
  privateKey: Uint8Array,
  payload: Uint8Array,
  { form = 'p1363' }: { form?: 'p1363' | 'der' } = {},
): string {
  const signature = SIGNERS[algorithm].sign(payload, privateKey);
  const isEcdsa = algorithm === 'es256' || algorithm === 'es256k';
  return encodeBase64(isEcdsa && form === 'der' ? encodeDerSignature(signature) : signature);
}

/** Encodes `r‖s` as DER: `SEQUENCE { INTEGER r, INTEGER s }`, at most 72 bytes. */
export function encodeDerSignature(signature: Uint8Array): Uint8Array {
  const body = [...encodeInteger(signature.subarray(0, 32)), ...encodeInteger(signature.subarray(32, 64))];
  return Uint8Array.from([0x30, body.length, ...body]);
}

function encodeInteger(bytes: Uint8Array): number[] {
  const firstUsed = bytes.findIndex((byte) => byte !== 0);
  const digits = firstUsed < 0 ? [0] : [...bytes.subarray(firstUsed)];
  const padded = (digits[0] ?? 0) >= 0x80 ? [0, ...digits] : digits;
  return [0x02, padded.length, ...padded];
}
