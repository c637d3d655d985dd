// Random secrets that we hand out and store as hashes: client secrets, refresh tokens, one-time tokens.
// It must never be used for passwords: a plain hash protects only what is already random.
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

/** Makes a secret of `byteLength` random bytes (32, that is 256 bits, unless told) as base64url without padding. */
export function newSecret(byteLength = 32): string {
  return randomBytes(byteLength).toString('base64url');
}

/** The SHA-256 (32 bytes) of a secret's UTF-8 text: what is stored in its place. */
export function hashSecret(secret: string): Buffer {
  return createHash('sha256').update(secret, 'utf8').digest();
}

/** Whether two hashes are equal, in a time that does not depend on where they differ. Unequal lengths are unequal. */
export function hashesEqual(left: Uint8Array, right: Uint8Array): boolean {
  return left.length === right.length && timingSafeEqual(left, right);
}
