// Creates and checks nonces for DPoP proofs (RFC 9449 §8). A nonce is a MAC over a time step and the tenant, so it is
// not stored. It is accepted only for the tenant that it was issued for.
import { hkdf } from '@noble/hashes/hkdf.js';
import { hmac } from '@noble/hashes/hmac.js';
import { sha256 } from '@noble/hashes/sha2.js';
import { encodeBase64Url } from '../../platform/crypto/base64.ts';

/** Seconds for which one nonce is issued. After that it is accepted for the same time again. */
export const NONCE_STEP = 120;

/** Bytes of the MAC in a nonce: 144 bits, 24 characters. */
const NONCE_LENGTH = 18;

/** The `info` of the key derivation. Each use of a master key has a different one (RFC 5869 §3.2). */
const PURPOSE = 'countersign:dpop-nonce:v1';

/** Accepted steps, in this order. The next step is accepted, because another process may have a faster clock. */
const GOOD_STEPS = [0, -1, 1];

/**
 * Creates the nonces of all tenants. Processes with the same master keys accept each other's nonces.
 * @param masterKeys the first key makes nonces. Nonces of all keys are accepted, so that clients are not affected by a
 * change of master keys.
 */
export function createDpopNonces({ masterKeys }: { masterKeys: readonly { readonly key: Uint8Array }[] }) {
  const keys = masterKeys.map(({ key }) => hkdf(sha256, key, undefined, utf8(PURPOSE), 32));
  return {
    /** Returns the current nonce, 24 characters of base64url. @param now milliseconds since 1970 */
    issue(tenantId: string, now: number): string {
      const [key] = keys;
      if (key === undefined) throw new Error('There is no master key to make a DPoP nonce with.');
      return nonceOf(key, tenantId, stepOf(now));
    },

    /** Returns whether the nonce was issued in an accepted step. @param now milliseconds since 1970 */
    isRecent(tenantId: string, nonce: string, now: number): boolean {
      const step = stepOf(now);
      return GOOD_STEPS.some((offset) =>
        keys.some((key) => textsEqual(nonce, nonceOf(key, tenantId, step + offset))),
      );
    },
  };
}

function stepOf(now: number): number {
  return Math.floor(now / 1000 / NONCE_STEP);
}

function nonceOf(key: Uint8Array, tenantId: string, step: number): string {
  return encodeBase64Url(hmac(sha256, key, utf8(`${tenantId}\n${step}`)).subarray(0, NONCE_LENGTH));
}

function textsEqual(left: string, right: string): boolean {
  if (left.length !== right.length) return false;
  let difference = 0;
  for (let index = 0; index < left.length; index++)
    difference |= left.charCodeAt(index) ^ right.charCodeAt(index);
  return difference === 0;
}

function utf8(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
