// Opens private keys that are stored as PKCS #8. OpenSSL 3.0, which is in Node 20 and 22, tries each of its decoders on
// such bytes, and takes five times as long as for the same key as a JWK.
import { createPrivateKey, type KeyObject } from 'node:crypto';
import type { SigningCurveJwk } from './jwk.ts';

/** The public half as a JWK; a key of RSA has neither coordinate. */
type PublicHalf = { readonly kty: string; readonly x?: string; readonly y?: string };

type PrivateJwk = SigningCurveJwk & { readonly d: string };

/** The bytes before the private value (RFC 5208 §5, RFC 5915 §3) and those between it and the point. */
const P256_START = Buffer.from(
  '308187020100301306072a8648ce3d020106082a8648ce3d030107046d306b0201010420',
  'hex',
);
const P256_MIDDLE = Buffer.from('a14403420004', 'hex');

/** The bytes before the private value (RFC 8410 §7). */
const ED25519_START = Buffer.from('302e020100300506032b657004220420', 'hex');

/**
 * Opens a private key.
 * @param pkcs8 DER
 * @param publicHalf its public half; the public half in the DER counts where it differs, or where this is null
 * @throws the error of OpenSSL for other bytes
 */
export function openPrivateKey(pkcs8: Buffer, publicHalf: PublicHalf | null): KeyObject {
  const jwk = jwkOfPkcs8(pkcs8, publicHalf);
  if (jwk !== undefined) {
    try {
      return createPrivateKey({ key: jwk, format: 'jwk' });
    } catch {
      // The error is then that of the bytes as they are stored.
    }
  }
  return createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' });
}

/** @returns the key as a JWK; undefined for bytes that have not exactly the form in which Node exports the key */
export function jwkOfPkcs8(pkcs8: Buffer, publicHalf: PublicHalf | null): PrivateJwk | undefined {
  const { x, y } = publicHalf ?? {};
  if (x === undefined) return undefined;
  const read = (start: number): string => pkcs8.toString('base64url', start, start + 32);
  if (y === undefined) {
    const isKnown = pkcs8.length === 48 && begins(pkcs8, ED25519_START);
    return isKnown ? { kty: 'OKP', crv: 'Ed25519', d: read(16), x } : undefined;
  }
  const isKnown =
    pkcs8.length === 138 && begins(pkcs8, P256_START) && begins(pkcs8.subarray(68), P256_MIDDLE);
  if (!isKnown || read(74) !== x || read(106) !== y) return undefined;
  return { kty: 'EC', crv: 'P-256', d: read(36), x, y };
}

function begins(bytes: Buffer, start: Buffer): boolean {
  return bytes.subarray(0, start.length).equals(start);
}
