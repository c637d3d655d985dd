// Verifies BIP 340 signatures, which node:crypto has not.
import { schnorr } from '@noble/curves/secp256k1.js';
import { sha256 } from '@noble/hashes/sha2.js';

/**
 * Verifies with the SHA-256 of the payload as the 32-byte message, or else with the payload as the message.
 * @param signature 64 bytes
 * @param publicKey 32 bytes, x-only
 */
export function verifyBip340(signature: Uint8Array, payload: Uint8Array, publicKey: Uint8Array): boolean {
  return (
    schnorr.verify(signature, sha256(payload), publicKey) || schnorr.verify(signature, payload, publicKey)
  );
}
