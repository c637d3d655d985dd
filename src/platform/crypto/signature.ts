// Decodes a signature without any key. Its length alone decides its form, so that no text can be read in two ways.
import { bytesToHex } from '@noble/hashes/utils.js';
import type { KeyAlgorithm } from './algorithm.ts';
import { decodeBase64 } from './base64.ts';

/** Bytes of a signature in the form that is verified: `R‖S` (RFC 8032), `r‖s` (IEEE P1363), or BIP 340. */
const SIGNATURE_LENGTH = 64;

/** Base64 characters of the longest DER signature, which has 72 bytes. */
const LONGEST_TEXT = 96;

/** Characters with white space: `openssl base64` breaks lines, and shells indent them. */
const LONGEST_WRAPPED = 2 * LONGEST_TEXT;

/**
 * The eight points of small order of edwards25519, encoded. A signature whose R is one of them tells its private key,
 * so no signer makes it. Newer versions of Node refuse it, older ones do not.
 */
const SMALL_ORDER: ReadonlySet<string> = new Set([
  '0000000000000000000000000000000000000000000000000000000000000000',
  '0000000000000000000000000000000000000000000000000000000000000080',
  '0100000000000000000000000000000000000000000000000000000000000000',
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa',
  'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
]);

const OPEN: Readonly<Record<KeyAlgorithm, (bytes: Uint8Array) => Uint8Array | null>> = {
  ed25519: openEd25519,
  es256: openEcdsa,
  es256k: openEcdsa,
  bip340: openFixed,
};

/**
 * Decodes a signature.
 * @param text base64, standard or URL-safe, padded or not; ASCII white space is ignored, as in keys. ed25519 and
 *   bip340: exactly 64 bytes. es256 and es256k: 64 bytes are `r‖s`, any other length is strict DER (RFC 3279 §2.2.3)
 *   without BER forms or trailing bytes
 * @returns 64 bytes, or null for another form. The verification checks the range of r and s
 */
export function decodeSignature(algorithm: KeyAlgorithm, text: string): Uint8Array | null {
  if (text.length > LONGEST_WRAPPED) return null;
  const bare = text.replaceAll(/[\t\n\r ]/g, '');
  const bytes = bare.length > LONGEST_TEXT ? null : decodeBase64(bare);
  return bytes === null ? null : OPEN[algorithm](bytes);
}

function openFixed(bytes: Uint8Array): Uint8Array | null {
  return bytes.length === SIGNATURE_LENGTH ? bytes : null;
}

function openEd25519(bytes: Uint8Array): Uint8Array | null {
  return bytes.length === SIGNATURE_LENGTH && !SMALL_ORDER.has(bytesToHex(bytes.subarray(0, 32)))
    ? bytes
    : null;
}

function openEcdsa(bytes: Uint8Array): Uint8Array | null {
  return bytes.length === SIGNATURE_LENGTH ? bytes : decodeDer(bytes);
}

/** Both integers have at most 70 bytes with their headers, so the short form of every length is the minimal one. */
function decodeDer(der: Uint8Array): Uint8Array | null {
  if (der[0] !== 0x30 || der[1] !== der.length - 2) return null;
  const r = readInteger(der, 2);
  const s = r === null ? null : readInteger(der, r.end);
  if (r === null || s === null || s.end !== der.length) return null;
  const signature = new Uint8Array(SIGNATURE_LENGTH);
  signature.set(r.value, 32 - r.value.length);
  signature.set(s.value, SIGNATURE_LENGTH - s.value.length);
  return signature;
}

/** Reads a minimal, non-negative INTEGER of at most 32 significant bytes (X.690 §8.3). */
function readInteger(der: Uint8Array, start: number): { value: Uint8Array; end: number } | null {
  const length = der[start + 1];
  const first = der[start + 2];
  if (der[start] !== 0x02 || length === undefined || length === 0 || first === undefined) return null;
  const end = start + 2 + length;
  if (end > der.length || first >= 0x80) return null;
  const second = der[start + 3] ?? 0;
  if (first === 0 && length > 1 && second < 0x80) return null;
  const value = der.subarray(first === 0 ? start + 3 : start + 2, end);
  return value.length > 32 ? null : { value, end };
}
