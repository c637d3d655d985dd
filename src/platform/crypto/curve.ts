// The three curves of the four algorithms: their names, and the checks of points. Points that allow a forged signature
// are refused.
import { ed25519 } from '@noble/curves/ed25519.js';
import { p256 } from '@noble/curves/nist.js';
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { concatBytes } from '@noble/hashes/utils.js';
import type { KeyAlgorithm } from './algorithm.ts';

/** Curve names as JOSE writes them (RFC 7518 §6.2.1.1, RFC 8037 §2, RFC 8812 §3.1). */
export type CurveName = 'Ed25519' | 'P-256' | 'secp256k1';

/** A byte string is no acceptable point; the message follows the name of the field. */
export class PointError extends Error {
  override readonly name = 'PointError';
}

/** bip340 is Schnorr over the curve of es256k, with x-only keys. */
export const CURVE_OF: Readonly<Record<KeyAlgorithm, CurveName>> = {
  ed25519: 'Ed25519',
  es256: 'P-256',
  es256k: 'secp256k1',
  bip340: 'secp256k1',
};

/** Allowed lengths in bytes of a raw key. */
export const RAW_KEY_LENGTHS: Readonly<Record<KeyAlgorithm, readonly number[]>> = {
  ed25519: [32],
  es256: [33, 64, 65],
  es256k: [33, 64, 65],
  bip340: [32, 33],
};

const DECODE_POINT: Readonly<Record<CurveName, (bytes: Uint8Array) => Uint8Array>> = {
  Ed25519: decodeEdwardsPoint,
  'P-256': (bytes) => decodeWeierstrassPoint(p256.Point, 'P-256', bytes),
  secp256k1: (bytes) => decodeWeierstrassPoint(secp256k1.Point, 'secp256k1', bytes),
};

/**
 * Checks a point. @returns its one canonical encoding: 32 bytes for Ed25519, else the 65-byte uncompressed SEC1 form
 * @param bytes 32 bytes (Ed25519; RFC 8032 §5.1.2), or SEC1 compressed, uncompressed, or `x‖y` (64 bytes)
 * @throws PointError when it is off the curve, the identity, of small order, or not canonically encoded
 */
export function decodePoint(curve: CurveName, bytes: Uint8Array): Uint8Array {
  return DECODE_POINT[curve](bytes);
}

/** The 65-byte form of the point with this x coordinate and an even y (BIP 340, `lift_x`). @throws PointError */
export function liftX(x: Uint8Array): Uint8Array {
  return decodePoint('secp256k1', concatBytes(Uint8Array.of(0x02), x));
}

/** The 33-byte compressed SEC1 form of a 65-byte uncompressed point (SEC 1 §2.3.3). */
export function compressPoint(uncompressed: Uint8Array): Uint8Array {
  const isOdd = ((uncompressed[64] ?? 0) & 1) === 1;
  return concatBytes(Uint8Array.of(isOdd ? 0x03 : 0x02), uncompressed.subarray(1, 33));
}

/**
 * Returns the 65-byte form of the other secp256k1 point with the same x coordinate.
 * @param uncompressed 65 bytes
 * @throws PointError
 */
export function negatePoint(uncompressed: Uint8Array): Uint8Array {
  const isOdd = compressPoint(uncompressed)[0] === 0x03;
  return decodePoint(
    'secp256k1',
    concatBytes(Uint8Array.of(isOdd ? 0x02 : 0x03), uncompressed.subarray(1, 33)),
  );
}

function decodeEdwardsPoint(bytes: Uint8Array): Uint8Array {
  const point = tryDecode(() => ed25519.Point.fromBytes(bytes, false));
  if (point === null) {
    const isLooselyEncoded = tryDecode(() => ed25519.Point.fromBytes(bytes, true)) !== null;
    throw new PointError(
      isLooselyEncoded ? 'is not the canonical encoding of its point' : 'is not a point on the curve Ed25519',
    );
  }
  if (point.isSmallOrder()) throw new PointError('is a point of small order, for which anybody can sign');
  return Uint8Array.from(bytes);
}

function decodeWeierstrassPoint(Point: typeof p256.Point, curve: CurveName, bytes: Uint8Array): Uint8Array {
  const encoded = bytes.length === 64 ? concatBytes(Uint8Array.of(0x04), bytes) : bytes;
  const point = tryDecode(() => Point.fromBytes(encoded));
  if (point === null) throw new PointError(`is not a point on the curve ${curve}`);
  return point.toBytes(false);
}

function tryDecode<T>(decode: () => T): T | null {
  try {
    return decode();
  } catch {
    return null;
  }
}
