// Parses DPoP proofs and checks that a proof belongs to a request (RFC 9449 §4.3). Other files verify its signature and
// its first use.
import { sha256 } from '@noble/hashes/sha2.js';
import { normalizeTarget } from '../../../packages/resource-server/src/proof-target.ts';
import { encodeBase64Url } from '../../platform/crypto/base64.ts';
import { parseCompactJws } from '../../platform/crypto/jws.ts';
import { invalidProof } from './invalid-proof.ts';
import {
  isProofAlgorithm,
  PROOF_ALGORITHMS,
  type ProofAlgorithm,
  type ProofKey,
  readProofKey,
} from './proof-key.ts';

/** Seconds by which `iat` may be in the past or in the future, both inclusive. */
const PROOF_WINDOW = { past: 60, future: 10 } as const;

/** Greatest length in characters. A proof with a 4,096-bit RSA key and a nonce has about 2,000. */
const LONGEST_PROOF = 4_096;

/** Greatest length of a `jti` in characters. 96 random bits have 16 characters (RFC 9449 §4.2). */
const LONGEST_JTI = 256;

/** `iat` is in Unix seconds. `ath` and `nonce` are present when the client sent them. */
export type ProofClaims = {
  readonly jti: string;
  readonly htm: string;
  readonly htu: string;
  readonly iat: number;
  readonly ath?: string | undefined;
  readonly nonce?: string | undefined;
};

/** A well-formed proof. `signed` is the text that the signature covers. */
export type DpopProof = {
  readonly algorithm: ProofAlgorithm;
  readonly key: ProofKey;
  readonly claims: ProofClaims;
  readonly signed: string;
  readonly signature: Uint8Array;
};

/** The request that a proof must match. `accessToken.jkt` is the key to which the token is bound. */
export type ProvenRequest = {
  readonly method: string;
  /** Address of this request, built from the settings and not from the Host header. */
  readonly url: string;
  readonly now: number;
  /** End of the tenant's latest suspension; older proofs are refused. */
  readonly resumedAt?: Date | undefined;
  readonly accessToken?: { readonly text: string; readonly jkt: string } | undefined;
};

/**
 * Returns the only proof of a request. @param values each `DPoP` header as it was sent
 * @throws ServiceError `invalid_dpop_proof` for no proof and for several (RFC 9449 §4.3, check 1)
 */
export function onlyProof(values: readonly string[]): string {
  const [proof] = values;
  if (proof === undefined) throw invalidProof('A DPoP proof is required in the DPoP header.');
  if (values.length > 1) throw invalidProof('The DPoP header must be sent once.');
  return proof;
}

/**
 * Parses a proof. Order of the checks: length, compact form, `typ`, `alg`, `crit`, `jwk`, claims.
 * @throws ServiceError `invalid_dpop_proof` (RFC 9449 §4.3, checks 2 to 5 and 7)
 */
export function parseProof(text: string): DpopProof {
  if (text.length > LONGEST_PROOF)
    throw invalidProof(`The DPoP proof is longer than ${LONGEST_PROOF} characters.`);
  const jws = parseCompactJws(text);
  if (jws === null) throw invalidProof('The DPoP proof is not a JWT in compact form.');
  const { typ, alg, jwk, crit } = jws.header;
  if (typ !== 'dpop+jwt') throw invalidProof('The typ of the DPoP proof must be dpop+jwt.');
  if (!isProofAlgorithm(alg))
    throw invalidProof(`The alg of the DPoP proof must be one of ${PROOF_ALGORITHMS.join(', ')}.`);
  if (crit !== undefined) throw invalidProof('The DPoP proof has critical header parameters; none is known.');
  const key = readProofKey(alg, jwk);
  return {
    algorithm: alg,
    key,
    claims: readClaims(jws.payload),
    signed: jws.signed,
    signature: jws.signature,
  };
}

/**
 * Checks that the proof is for this request, this time and this access token. Order: `htm`, `htu`, `iat`, `ath`, the
 * token's key.
 * @throws ServiceError `invalid_dpop_proof` (RFC 9449 §4.3, checks 8, 9, 11 and 12)
 */
export function checkProof({ claims, key }: DpopProof, request: ProvenRequest): void {
  if (claims.htm !== request.method)
    throw invalidProof('The htm of the proof is not the method of the request.');
  const target = normalizeTarget(request.url);
  if (target === null || normalizeTarget(claims.htu) !== target)
    throw invalidProof(
      `The htu of the proof is not the address of the request${target === null ? '' : `, ${target}`}.`,
    );
  checkTime(claims.iat, request.now);
  const { accessToken, resumedAt } = request;
  // A proof says whole seconds, and that of a resumption may be from after it.
  if (resumedAt !== undefined && claims.iat < Math.floor(resumedAt.getTime() / 1_000))
    throw invalidProof(
      'The iat of the proof is from before the tenant was suspended, or the service restored.',
    );
  if (accessToken === undefined) return;
  if (claims.ath === undefined) throw invalidProof('The proof lacks ath, the hash of the access token.');
  if (claims.ath !== hashAccessToken(accessToken.text))
    throw invalidProof('The ath of the proof is not the hash of the access token.');
  if (key.thumbprint !== accessToken.jkt)
    throw invalidProof('The access token is bound to another key than that of the proof.');
}

/** Computes `ath`: the SHA-256 of the token's text in base64url (RFC 9449 §4.2). */
export function hashAccessToken(text: string): string {
  return encodeBase64Url(sha256(new TextEncoder().encode(text)));
}

/** Returns the time in Unix seconds until which a proof's `jti` must be stored. Later no process accepts the proof. */
export function expiryOf({ iat }: Pick<ProofClaims, 'iat'>): number {
  // Counted from `iat`, because a proof with a future `iat` is accepted for longer.
  return iat + PROOF_WINDOW.past + PROOF_WINDOW.future;
}

function checkTime(iat: number, now: number): void {
  const age = now / 1000 - iat;
  const { past, future } = PROOF_WINDOW;
  if (age <= past && age >= -future) return;
  const fault = age > past ? 'too old' : 'in the future';
  throw invalidProof(
    `The iat of the proof is ${fault}: the time of the server is ${Math.floor(now / 1000)} ` +
      `(${new Date(now).toISOString()}), and a proof may be ${past} s old and ${future} s ahead at most.`,
  );
}

function readClaims(payload: Readonly<Record<string, unknown>>): ProofClaims {
  const { iat } = payload;
  const [jti, htm, htu] = [required(payload, 'jti'), required(payload, 'htm'), required(payload, 'htu')];
  if (jti.length > LONGEST_JTI)
    throw invalidProof(`The jti of the proof is longer than ${LONGEST_JTI} characters.`);
  if (typeof iat !== 'number' || !Number.isFinite(iat))
    throw invalidProof('The iat of the proof is missing or not a number.');
  return { jti, htm, htu, iat, ath: optional(payload, 'ath'), nonce: optional(payload, 'nonce') };
}

function required(payload: Readonly<Record<string, unknown>>, name: 'jti' | 'htm' | 'htu'): string {
  const value = payload[name];
  if (typeof value === 'string' && value !== '') return value;
  throw invalidProof(`The ${name} of the proof is missing or not a text.`);
}

function optional(payload: Readonly<Record<string, unknown>>, name: 'ath' | 'nonce'): string | undefined {
  const value = payload[name];
  if (value === undefined || typeof value === 'string') return value;
  throw invalidProof(`The ${name} of the proof is not a text.`);
}
