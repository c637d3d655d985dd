// Random secrets that the service issues. Client secrets and opaque tokens are stored as hashes, signing secrets are
// stored sealed. Not for passwords: a plain hash protects only random secrets.
import { hash, randomBytes, timingSafeEqual } from 'node:crypto';

/** Makes a secret of `byteLength` random bytes (by default 32, that is 256 bits) as base64url without padding. */
export function newSecret(byteLength = 32): string {
  return randomBytes(byteLength).toString('base64url');
}

/**
 * Makes a signing secret of 32 random bytes as in Standard Webhooks: padded standard base64 with a prefix. The HMAC key
 * of the specified suite is this whole text.
 */
export function newSigningSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`;
}

/** The SHA-256 (32 bytes) of the secret's UTF-8 text. It is stored instead of the secret. */
export function hashSecret(secret: string): Buffer {
  return hash('sha256', secret, 'buffer');
}

/** Compares two hashes in a time that does not depend on their content. Unequal lengths are unequal. */
export function hashesEqual(left: Uint8Array, right: Uint8Array): boolean {
  return left.length === right.length && timingSafeEqual(left, right);
}
