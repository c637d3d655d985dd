// Public keys as JWKs (RFC 7517): their kinds, members and thumbprints. Only the form is checked here: a point that is
// not on its curve is refused when the key is imported.
import { sha256 } from '@noble/hashes/sha2.js';
import { decodeBase64, encodeBase64Url } from './base64.ts';

type Members = Readonly<Record<string, unknown>>;

/** Members that hold private or shared material in any kind of JWK (RFC 7518 §6.2.2, §6.3.2, §6.4; RFC 8037 §2). */
export const PRIVATE_MEMBERS: readonly string[] = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k', 'priv'];

/** Curves by their `crv` (RFC 7518 §6.2.1, RFC 8037 §2, RFC 8812 §3.1); `bytes`: length of each coordinate. */
export const JWK_CURVES = {
  'P-256': { kty: 'EC', coordinates: ['x', 'y'], bytes: 32 },
  secp256k1: { kty: 'EC', coordinates: ['x', 'y'], bytes: 32 },
  'P-384': { kty: 'EC', coordinates: ['x', 'y'], bytes: 48 },
  'P-521': { kty: 'EC', coordinates: ['x', 'y'], bytes: 66 },
  Ed25519: { kty: 'OKP', coordinates: ['x'], bytes: 32 },
} as const;

export type JwkCurve = keyof typeof JWK_CURVES;
export type JwkKind = JwkCurve | 'RSA';

/** The required members of a public key on a curve (RFC 7518 §6.2.1, RFC 8037 §2); `y` is missing for Ed25519. */
export type CurveJwk = {
  readonly kty: 'EC' | 'OKP';
  readonly crv: JwkCurve;
  readonly x: string;
  readonly y?: string;
};

/** A public key on one of the curves that sign tokens and client assertions. */
export type SigningCurveJwk = CurveJwk & { readonly crv: 'P-256' | 'Ed25519' };

/** The required members of a public RSA key (RFC 7518 §6.3.1). */
export type RsaJwk = { readonly kty: 'RSA'; readonly n: string; readonly e: string };

/** @returns the name of the first private member, with any value */
export function findPrivateMember(jwk: Members): string | undefined {
  return PRIVATE_MEMBERS.find((member) => Object.hasOwn(jwk, member));
}

/** @returns the member that excludes the verification of signatures (RFC 7517 §4.2, §4.3) */
export function findWrongPurpose({ use, key_ops: operations }: Members): 'use' | 'key_ops' | undefined {
  if (use !== undefined && use !== 'sig') return 'use';
  const verifies = operations === undefined || (Array.isArray(operations) && operations.includes('verify'));
  return verifies ? undefined : 'key_ops';
}

/** The kind of a JWK by `kty` and `crv`; undefined when the pair is unknown. */
export function kindOf({ kty, crv }: Members): JwkKind | undefined {
  if (kty === 'RSA') return 'RSA';
  return isCurve(crv) && JWK_CURVES[crv].kty === kty ? crv : undefined;
}

/**
 * Reads the required members of a public key of this kind; other members are ignored.
 * @returns null for a key of another kind, and for members that are not canonical base64url of the right length
 */
export function readPublicJwk(kind: JwkKind, jwk: Members): CurveJwk | RsaJwk | null {
  const { x, y, n, e } = jwk;
  if (kindOf(jwk) !== kind) return null;
  if (kind === 'RSA') return isText(n) && isText(e) && measureRsa(jwk) !== null ? { kty: 'RSA', n, e } : null;
  const { kty, bytes } = JWK_CURVES[kind];
  if (!isText(x) || decodeMember(x)?.length !== bytes) return null;
  if (kty === 'OKP') return { kty, crv: kind, x };
  return isText(y) && decodeMember(y)?.length === bytes ? { kty, crv: kind, x, y } : null;
}

/** @returns the bytes of a member; null unless it is canonical base64url, unpadded, of one byte or more */
export function decodeMember(value: unknown): Uint8Array | null {
  return isText(value) && /^[A-Za-z0-9_-]+$/.test(value) ? decodeBase64(value) : null;
}

/**
 * Removes zero bytes before the modulus of an RSA key: Java's BigInteger writes one (RFC 7518 §6.3.1.1 forbids it).
 * @returns the same value where there is none, or where it is malformed
 */
export function stripModulus(n: unknown): unknown {
  const modulus = decodeMember(n);
  if (modulus === null || modulus[0] !== 0) return n;
  const first = modulus.findIndex((byte) => byte !== 0);
  return first === -1 ? n : encodeBase64Url(modulus.subarray(first));
}

/** Whether the modulus of an RSA key begins with a zero byte, which gives the key a second thumbprint. */
export function hasZeroBefore(n: unknown): boolean {
  return decodeMember(n)?.[0] === 0;
}

/**
 * Fills a coordinate that lacks leading zeros up to the length of its curve, as RFC 7518 §6.2.1.2 demands.
 * @returns the same value where it is not too short
 */
export function fillCoordinate(value: unknown, bytes: number): unknown {
  const given = decodeMember(value);
  if (given === null || given.length >= bytes) return value;
  const filled = new Uint8Array(bytes);
  filled.set(given, bytes - given.length);
  return encodeBase64Url(filled);
}

/**
 * The size of an RSA key. @returns null when `n` or `e` is malformed or has a leading zero (RFC 7518 §6.3.1): a leading
 * zero would give the same key a second thumbprint, and make a short modulus appear long
 */
export function measureRsa({ n, e }: Members): { bits: number; exponent: Uint8Array } | null {
  const [modulus, exponent] = [decodeMember(n), decodeMember(e)];
  if (!modulus?.[0] || !exponent?.[0]) return null;
  return { bits: modulus.length * 8 - Math.clz32(modulus[0]) + 24, exponent };
}

/** Bits of an RSA modulus: the minimum of RFC 7518 §3.5, and a maximum that limits the cost of a verification. */
const RSA_BITS = { least: 2_048, most: 4_096 } as const;

/** Greatest length of an RSA exponent in bytes, because a long exponent makes a verification slow. */
const LONGEST_EXPONENT = 4;

/** Whether an RSA key is neither weak nor costly. With the exponent 1 anybody could sign, and no even one is valid. */
export function isUsableRsa(jwk: RsaJwk): boolean {
  const size = measureRsa(jwk);
  if (size === null || size.exponent.length > LONGEST_EXPONENT) return false;
  const { bits, exponent } = size;
  const isOdd = ((exponent.at(-1) ?? 0) & 1) === 1;
  const isOne = exponent.length === 1 && exponent[0] === 1;
  return isOdd && !isOne && bits >= RSA_BITS.least && bits <= RSA_BITS.most;
}

/** RFC 7638 thumbprint with SHA-256 in base64url, over the required members in lexical order. */
export function thumbprintOf(jwk: CurveJwk | RsaJwk): string {
  const { crv, e, kty, n, x, y }: Partial<Record<'crv' | 'e' | 'kty' | 'n' | 'x' | 'y', string>> = jwk;
  // JSON.stringify omits undefined members.
  return encodeBase64Url(sha256(new TextEncoder().encode(JSON.stringify({ crv, e, kty, n, x, y }))));
}

function isCurve(crv: unknown): crv is JwkCurve {
  return isText(crv) && Object.hasOwn(JWK_CURVES, crv);
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}
