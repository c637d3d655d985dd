// Reads the public key in a DPoP proof and computes its thumbprint. A key with private members is refused.
import {
  type CurveJwk,
  findPrivateMember,
  isUsableRsa,
  type RsaJwk,
  readPublicJwk,
  thumbprintOf,
} from '../../platform/crypto/jwk.ts';
import { JWS_ALGORITHMS } from '../../platform/crypto/jws.ts';
import { invalidProof } from './invalid-proof.ts';

/**
 * Algorithms of proofs, for `dpop_signing_alg_values_supported` (RFC 9449 §5.1): those of the FAPI 2.0 Security
 * Profile, §5.4.1. `EdDSA` is the older name of `Ed25519` (RFC 9864 §2.2) and means only that curve. ES256K is left out
 * because few JOSE libraries have it, RS256 because PKCS #1 v1.5 signatures are legacy.
 */
export const PROOF_ALGORITHMS = ['ES256', 'Ed25519', 'EdDSA', 'PS256'] as const;

export type ProofAlgorithm = (typeof PROOF_ALGORITHMS)[number];

/** `thumbprint`: RFC 7638 with SHA-256, base64url; the `jkt` of tokens bound to the key (RFC 9449 §6.1). */
export type ProofKey = { readonly jwk: CurveJwk | RsaJwk; readonly thumbprint: string };

const WRONG_KEY: Readonly<Record<ProofAlgorithm, string>> = {
  ES256: 'For ES256 the jwk of the proof must be an EC key on P-256, with x and y of 32 bytes in base64url.',
  Ed25519: 'For Ed25519 the jwk of the proof must be an OKP key on Ed25519, with x of 32 bytes in base64url.',
  EdDSA: 'For EdDSA the jwk of the proof must be an OKP key on Ed25519, with x of 32 bytes in base64url.',
  PS256:
    'For PS256 the jwk of the proof must be an RSA key of 2,048 to 4,096 bits with an odd exponent of 3 to 2^32.',
};

export function isProofAlgorithm(alg: unknown): alg is ProofAlgorithm {
  return PROOF_ALGORITHMS.some((known) => known === alg);
}

/**
 * Reads the `jwk` in a proof's header. Checks only the form; the import of the key later refuses a point off its curve.
 * @throws ServiceError `invalid_dpop_proof` for a key with private members, for a kind of key that `alg` does not use,
 * and for members that are not canonical base64url of the right length
 */
export function readProofKey(alg: ProofAlgorithm, jwk: unknown): ProofKey {
  if (typeof jwk !== 'object' || jwk === null || Array.isArray(jwk))
    throw invalidProof('The proof has no jwk in its header.');
  const members = jwk as Readonly<Record<string, unknown>>;
  if (findPrivateMember(members) !== undefined)
    throw invalidProof('The jwk of the proof has private members; it must hold the public key only.');
  const read = readPublicJwk(JWS_ALGORITHMS[alg], members);
  if (read === null || (read.kty === 'RSA' && !isUsableRsa(read))) throw invalidProof(WRONG_KEY[alg]);
  return { jwk: read, thumbprint: thumbprintOf(read) };
}
