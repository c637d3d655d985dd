// Reads public keys in every form that clients send, and computes their fingerprints. Keys that allow forged signatures
// are refused. Messages contain no part of a private key that a client sends by mistake.
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex } from '@noble/hashes/utils.js';
import type { KeyAlgorithm } from './algorithm.ts';
import { encodeBase64Url } from './base64.ts';
import {
  CURVE_OF,
  type CurveName,
  compressPoint,
  decodePoint,
  liftX,
  negatePoint,
  PointError,
  RAW_KEY_LENGTHS,
} from './curve.ts';
import { type CurveJwk, thumbprintOf } from './jwk.ts';
import { PublicKeyError } from './public-key-error.ts';
import { type KeyMaterial, readKeyMaterial } from './public-key-form.ts';
import { buildSpki } from './spki.ts';

/**
 * A checked public key. `raw` has the canonical bytes, over which the fingerprint is computed: 32 bytes for ed25519 and
 * bip340 (x-only), the 65-byte uncompressed SEC1 point for es256 and es256k.
 */
export type PublicKey = { readonly algorithm: KeyAlgorithm; readonly raw: Uint8Array };

const ALGORITHMS_ON: Readonly<Record<CurveName, string>> = {
  Ed25519: 'an ed25519 key',
  'P-256': 'a P-256 (es256) key',
  secp256k1: 'a secp256k1 (es256k or bip340) key',
};

/**
 * Reads a public key of the given algorithm.
 * @param input a JWK object, an SPKI PEM, SPKI DER in base64, or the raw key in hex (tried first) or base64. Raw keys:
 *   32 bytes for ed25519; 32 bytes x-only or 33 bytes compressed for bip340; SEC1, compressed or not, or `x‖y` for
 *   es256 and es256k. bip340 also accepts a secp256k1 JWK or SPKI, and ignores the parity of y (BIP 340)
 * @throws PublicKeyError for any other input; its message follows the name of the field
 */
export function parsePublicKey(
  algorithm: KeyAlgorithm,
  input: string | Readonly<Record<string, unknown>>,
): PublicKey {
  const material = readKeyMaterial(input, RAW_KEY_LENGTHS[algorithm]);
  const curve = CURVE_OF[algorithm];
  if (material.curve !== undefined && material.curve !== curve)
    throw new PublicKeyError(
      'wrong_algorithm',
      `is ${ALGORITHMS_ON[material.curve]}, but algorithm is ${algorithm}`,
    );
  if (material.jwkAlgorithm !== undefined && material.jwkAlgorithm !== algorithm)
    throw new PublicKeyError(
      'wrong_algorithm',
      `is a JWK whose alg is for ${material.jwkAlgorithm}, but algorithm is ${algorithm}`,
    );
  if (material.curve === undefined) checkRawLength(algorithm, material.bytes);
  try {
    return { algorithm, raw: canonicalize(algorithm, material.bytes) };
  } catch (error) {
    throw error instanceof PointError ? describePointError(algorithm, material, error) : error;
  }
}

/** True when `raw` has the canonical bytes of an acceptable key. Used for stored raw keys before their use. */
export function isCanonicalPublicKey(algorithm: KeyAlgorithm, raw: Uint8Array): boolean {
  const length = algorithm === 'es256' || algorithm === 'es256k' ? 65 : 32;
  if (raw.length !== length) return false;
  try {
    canonicalize(algorithm, raw);
    return true;
  } catch (error) {
    if (error instanceof PointError) return false;
    throw error;
  }
}

/** Lowercase hex SHA-256 over the canonical raw key. Source: Specification, "Agent key". */
export function fingerprint(raw: Uint8Array): string {
  return bytesToHex(sha256(raw));
}

/**
 * Other fingerprints that tools compute for the same key, as lowercase hex SHA-256. One is over the SPKI DER; the other
 * is over the compressed point, for keys on a curve with points. A bip340 key is only the x of a point, and two points
 * have that x: it has the fingerprints of both, the even point first. An es256k key of one of these points shares two
 * of them, so an alias can name two keys.
 */
export function fingerprintAliases(key: PublicKey): string[] {
  if (key.algorithm === 'ed25519') return [fingerprint(toSpkiDer(key))];
  const points = key.algorithm === 'bip340' ? [liftX(key.raw), negatePoint(liftX(key.raw))] : [key.raw];
  return points.flatMap((point) => [
    fingerprint(buildSpki(CURVE_OF[key.algorithm], point)),
    fingerprint(compressPoint(point)),
  ]);
}

/**
 * The public key as a JWK with its required members only (RFC 7518 §6.2, RFC 8037 §2, RFC 8812 §3). No JWK is
 * registered for bip340, so such a key is given as the secp256k1 point with an even y.
 */
export function toJwk(key: PublicKey): CurveJwk {
  const point = toPoint(key);
  if (key.algorithm === 'ed25519') return { kty: 'OKP', crv: 'Ed25519', x: encodeBase64Url(point) };
  return {
    kty: 'EC',
    crv: CURVE_OF[key.algorithm],
    x: encodeBase64Url(point.subarray(1, 33)),
    y: encodeBase64Url(point.subarray(33, 65)),
  };
}

/**
 * The SubjectPublicKeyInfo in DER (RFC 5280 §4.1.2.7), with an uncompressed point; for bip340 the point with an even y.
 */
export function toSpkiDer(key: PublicKey): Uint8Array {
  return buildSpki(CURVE_OF[key.algorithm], toPoint(key));
}

/**
 * The RFC 7638 thumbprint of `toJwk(key)`. A bip340 key has the same thumbprint as the es256k key on the same point.
 */
export function jwkThumbprint(key: PublicKey): string {
  return thumbprintOf(toJwk(key));
}

function toPoint({ algorithm, raw }: PublicKey): Uint8Array {
  return algorithm === 'bip340' ? liftX(raw) : raw;
}

function canonicalize(algorithm: KeyAlgorithm, bytes: Uint8Array): Uint8Array {
  if (algorithm !== 'bip340') return decodePoint(CURVE_OF[algorithm], bytes);
  const point = bytes.length === 32 ? liftX(bytes) : decodePoint('secp256k1', bytes);
  return point.slice(1, 33);
}

function checkRawLength(algorithm: KeyAlgorithm, bytes: Uint8Array): void {
  const lengths = RAW_KEY_LENGTHS[algorithm];
  if (lengths.includes(bytes.length)) return;
  throw new PublicKeyError(
    'malformed',
    `has ${bytes.length} bytes, and is no SPKI of a known kind; a raw ${algorithm} key has ${lengths.join(' or ')}`,
  );
}

/** A raw point does not name its curve, so the message says when the point lies on the other curve of the same size. */
function describePointError(
  algorithm: KeyAlgorithm,
  material: KeyMaterial,
  error: PointError,
): PublicKeyError {
  const other = algorithm === 'es256' ? 'secp256k1' : algorithm === 'es256k' ? 'P-256' : null;
  if (other === null || material.curve !== undefined || !isPointOn(other, material.bytes))
    return new PublicKeyError('invalid_point', error.message);
  return new PublicKeyError('wrong_algorithm', `is ${ALGORITHMS_ON[other]}, but algorithm is ${algorithm}`);
}

function isPointOn(curve: CurveName, bytes: Uint8Array): boolean {
  // About half of all compressed points lie on both curves, so only a full point identifies the curve.
  if (bytes.length === 33) return false;
  try {
    decodePoint(curve, bytes);
    return true;
  } catch {
    return false;
  }
}
