// Checks the signatures of DPoP proofs with node:crypto. It must never use a key that the proof's algorithm does not fit, nor a
// point that anybody could sign for.
import { constants, createPublicKey, type KeyObject, verify } from 'node:crypto';
import { createBoundedCache } from '../../platform/crypto/bounded-cache.ts';
import { decodePoint, PointError } from '../../platform/crypto/curve.ts';
import type { DpopProof } from './dpop-proof.ts';
import { invalidProof } from './invalid-proof.ts';
import type { ProofAlgorithm, ProofJwk, ProofKey } from './proof-key.ts';

/** Keys that were imported and checked, by thumbprint: a client signs each of its proofs with the same key. */
const KEYS_KEPT = 10_000;

/** Signatures of both curves are 64 bytes; ES256 ones are `r‖s` (RFC 7518 §3.4). */
const EC_SIGNATURE = 64;

type Check = (key: KeyObject, data: Buffer, signature: Uint8Array) => boolean;

const checkEd25519: Check = (key, data, signature) =>
  signature.length === EC_SIGNATURE && verify(null, data, key, signature);

const CHECKS: Readonly<Record<ProofAlgorithm, Check>> = {
  ES256: (key, data, signature) =>
    signature.length === EC_SIGNATURE &&
    verify('sha256', data, { key, dsaEncoding: 'ieee-p1363' }, signature),
  Ed25519: checkEd25519,
  EdDSA: checkEd25519,
  // The salt is as long as the hash (RFC 7518 §3.5).
  PS256: (key, data, signature) =>
    verify('sha256', data, { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 }, signature),
};

/** Creates the verifier with its cache of keys. */
export function createProofVerifier() {
  const keys = createBoundedCache<KeyObject>({ limit: KEYS_KEPT });
  return {
    /**
     * Synchronous, 0.1 to 0.2 ms; a new key also costs the check of its point.
     * @throws ServiceError `invalid_dpop_proof` for a bad signature or an impossible key (RFC 9449 §4.3, check 6)
     */
    verify({ algorithm, key, signed, signature }: DpopProof): void {
      const publicKey = keys.get(key.thumbprint, () => importKey(key));
      if (!CHECKS[algorithm](publicKey, Buffer.from(signed), signature))
        throw invalidProof('The signature of the DPoP proof is not by the key in its jwk.');
    },
  };
}

export type ProofVerifier = ReturnType<typeof createProofVerifier>;

function importKey({ jwk }: ProofKey): KeyObject {
  try {
    checkPoint(jwk);
    return createPublicKey({ key: { ...jwk }, format: 'jwk' });
  } catch (error) {
    if (error instanceof PointError)
      throw invalidProof(`The point in the jwk of the proof ${error.message}.`);
    throw invalidProof('The jwk of the proof is not a usable key.');
  }
}

/** OpenSSL takes small-order Ed25519 points, for which anybody can sign. */
function checkPoint(jwk: ProofJwk): void {
  if (jwk.kty === 'OKP') decodePoint(jwk.crv, Buffer.from(jwk.x, 'base64url'));
  if (jwk.kty === 'EC')
    decodePoint(jwk.crv, Buffer.concat([Buffer.from(jwk.x, 'base64url'), Buffer.from(jwk.y, 'base64url')]));
}
