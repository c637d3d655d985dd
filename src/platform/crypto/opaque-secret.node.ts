// Random secrets that the service issues: client secrets, refresh tokens and one-time tokens, stored as hashes, and
// signing secrets, stored sealed. Not for passwords: a plain hash protects only random secrets.
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

/** Makes a secret of `byteLength` random bytes (by default 32, that is 256 bits) as base64url without padding. */
export function newSecret(byteLength = 32): string {
  return randomBytes(byteLength).toString('base64url');
}

/**
 * Makes a signing secret of 32 random bytes as Standard Webhooks writes them, in padded standard base64 behind a
 * prefix. The specified suite's HMAC key is this text, whole.
 */
export function newSigningSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`;
}

/** The SHA-256 (32 bytes) of a secret's UTF-8 text, which is stored instead of the secret. */
export function hashSecret(secret: string): Buffer {
  return createHash('sha256').update(secret, 'utf8').digest();
}

/** Whether two hashes are equal, in a time that does not depend on where they differ. Unequal lengths are unequal. */
export function hashesEqual(left: Uint8Array, right: Uint8Array): boolean {
  return left.length === right.length && timingSafeEqual(left, right);
}
