// Checks signatures of issuer keys, synchronously. It must never take the algorithm from the token: the key decides.
import { type KeyObject, verify } from 'node:crypto';
import type { SigningAlgorithm } from '../../platform/context.ts';

/** Whether the signature over the text is by this key. ES256 signatures are `r‖s`, 64 bytes (RFC 7518 §3.4). */
export function verifyJws(
  { algorithm, key }: { algorithm: SigningAlgorithm; key: KeyObject },
  signed: string,
  signature: Uint8Array,
): boolean {
  if (signature.length !== 64) return false;
  const data = Buffer.from(signed);
  return algorithm === 'ES256'
    ? verify('sha256', data, { key, dsaEncoding: 'ieee-p1363' }, signature)
    : verify(null, data, key, signature);
}
