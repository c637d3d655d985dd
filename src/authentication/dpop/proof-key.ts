// Reads the public key inside a DPoP proof and names it by its thumbprint. A key with private members is refused.
import { sha256 } from '@noble/hashes/sha2.js';
import { decodeBase64, encodeBase64Url } from '../../platform/crypto/base64.ts';
import { invalidProof } from './invalid-proof.ts';

/**
 * Algorithms of proofs, for `dpop_signing_alg_values_supported` (RFC 9449 §5.1): those of the FAPI 2.0 Security Profile, §5.4.1.
 * `EdDSA` is the older name of `Ed25519` (RFC 9864 §2.2) and means that curve only. No ES256K: few JOSE libraries have it; no
 * RS256: PKCS #1 v1.5 signatures are legacy.
 */
export const PROOF_ALGORITHMS = ['ES256', 'Ed25519', 'EdDSA', 'PS256'] as const;

export type ProofAlgorithm = (typeof PROOF_ALGORITHMS)[number];

/** The required members of a public JWK (RFC 7638 §3.2, RFC 8037 §2), each in its canonical base64url. */
export type ProofJwk =
  | { readonly kty: 'EC'; readonly crv: 'P-256'; readonly x: string; readonly y: string }
  | { readonly kty: 'OKP'; readonly crv: 'Ed25519'; readonly x: string }
  | { readonly kty: 'RSA'; readonly n: string; readonly e: string };

/** `thumbprint`: RFC 7638 with SHA-256, base64url; the `jkt` of tokens that are bound to the key (RFC 9449 §6.1). */
export type ProofKey = { readonly jwk: ProofJwk; readonly thumbprint: string };

/** Members that hold secrets in any kind of JWK (RFC 7518 §6.2.2, §6.3.2, §6.4; RFC 8037 §2). */
const PRIVATE_MEMBERS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k', 'priv'];

/** Bytes: 2,048 bits at least (RFC 7518 §3.5), 4,096 at most, which keeps a verification cheap. */
const RSA_MODULUS = { shortest: 256, longest: 512 };

/** Bytes of an RSA exponent; a long one makes a verification slow. */
const LONGEST_EXPONENT = 4;

const WRONG_KEY: Readonly<Record<ProofAlgorithm, string>> = {
  ES256: 'For ES256 the jwk of the proof must be an EC key on P-256, with x and y of 32 bytes in base64url.',
  Ed25519: 'For Ed25519 the jwk of the proof must be an OKP key on Ed25519, with x of 32 bytes in base64url.',
  EdDSA: 'For EdDSA the jwk of the proof must be an OKP key on Ed25519, with x of 32 bytes in base64url.',
  PS256:
    'For PS256 the jwk of the proof must be an RSA key of 2,048 to 4,096 bits with an exponent below 2^32.',
};

/** Whether the header's `alg` is one of ours. */
export function isProofAlgorithm(alg: unknown): alg is ProofAlgorithm {
  return PROOF_ALGORITHMS.some((known) => known === alg);
}

/**
 * Reads the `jwk` of a proof's header. Form only: whether a point lies on its curve is for whoever uses the key.
 * @throws ServiceError `invalid_dpop_proof` for a key with private members, of another kind than `alg` needs, or whose members
 *   are not canonical base64url of the right length
 */
export function readProofKey(alg: ProofAlgorithm, jwk: unknown): ProofKey {
  if (typeof jwk !== 'object' || jwk === null || Array.isArray(jwk))
    throw invalidProof('The proof has no jwk in its header.');
  const members = jwk as Readonly<Record<string, unknown>>;
  if (PRIVATE_MEMBERS.some((member) => Object.hasOwn(members, member)))
    throw invalidProof('The jwk of the proof has private members; it must hold the public key only.');
  const read = alg === 'PS256' ? readRsa(members) : alg === 'ES256' ? readEc(members) : readOkp(members);
  if (read === null) throw invalidProof(WRONG_KEY[alg]);
  return { jwk: read, thumbprint: thumbprintOf(read) };
}

function readEc({ kty, crv, x, y }: Readonly<Record<string, unknown>>): ProofJwk | null {
  if (kty !== 'EC' || crv !== 'P-256' || !hasBytes(x, 32) || !hasBytes(y, 32)) return null;
  return { kty, crv, x, y };
}

function readOkp({ kty, crv, x }: Readonly<Record<string, unknown>>): ProofJwk | null {
  if (kty !== 'OKP' || crv !== 'Ed25519' || !hasBytes(x, 32)) return null;
  return { kty, crv, x };
}

function readRsa({ kty, n, e }: Readonly<Record<string, unknown>>): ProofJwk | null {
  const { shortest, longest } = RSA_MODULUS;
  if (kty !== 'RSA' || !hasBytes(n, shortest, longest) || !hasBytes(e, 1, LONGEST_EXPONENT)) return null;
  // No leading zero (RFC 7518 §6.3.1): one number has one text, and so a key has one thumbprint.
  const [modulus, exponent] = [decodeBase64(n), decodeBase64(e)];
  if (!modulus?.[0] || !exponent?.[0]) return null;
  return { kty, n, e };
}

function hasBytes(value: unknown, shortest: number, longest = shortest): value is string {
  const bytes = typeof value === 'string' && /^[A-Za-z0-9_-]+$/.test(value) ? decodeBase64(value) : null;
  return bytes !== null && bytes.length >= shortest && bytes.length <= longest;
}

/** RFC 7638 §3: the required members in lexical order, without white space. */
function thumbprintOf(jwk: ProofJwk): string {
  const members = Object.entries(jwk).sort(([left], [right]) => (left < right ? -1 : 1));
  return encodeBase64Url(sha256(new TextEncoder().encode(JSON.stringify(Object.fromEntries(members)))));
}
