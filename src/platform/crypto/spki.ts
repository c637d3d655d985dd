// SubjectPublicKeyInfo (RFC 5280 §4.1.2.7) of the three curves. Each form has one fixed DER prefix, compared byte by
// byte.
import { bytesToHex, concatBytes, hexToBytes } from '@noble/hashes/utils.js';
import type { CurveName } from './curve.ts';

type SpkiForm = { readonly curve: CurveName; readonly prefix: string; readonly pointLength: number };

/** RFC 8410 §4 for Ed25519; RFC 5480 §2 for the others, with an uncompressed or a compressed point. */
const FORMS: readonly SpkiForm[] = [
  { curve: 'Ed25519', prefix: '302a300506032b6570032100', pointLength: 32 },
  { curve: 'P-256', prefix: '3059301306072a8648ce3d020106082a8648ce3d030107034200', pointLength: 65 },
  { curve: 'P-256', prefix: '3039301306072a8648ce3d020106082a8648ce3d030107032200', pointLength: 33 },
  { curve: 'secp256k1', prefix: '3056301006072a8648ce3d020106052b8104000a034200', pointLength: 65 },
  { curve: 'secp256k1', prefix: '3036301006072a8648ce3d020106052b8104000a032200', pointLength: 33 },
];

/** DER object identifiers of keys that clients send by mistake, with their names for the error message. */
const FOREIGN_KEYS: readonly (readonly [oid: string, name: string])[] = [
  ['06092a864886f70d010101', 'RSA'],
  ['06032b656e', 'X25519'],
  ['06032b656f', 'X448'],
  ['06032b6571', 'Ed448'],
  ['06052b81040022', 'P-384'],
  ['06052b81040023', 'P-521'],
];

/** Reads the curve and the point of an SPKI. @returns null unless it is exactly one of the known forms */
export function parseSpki(der: Uint8Array): { curve: CurveName; point: Uint8Array } | null {
  const hex = bytesToHex(der);
  const form = FORMS.find(
    ({ prefix, pointLength }) => hex.startsWith(prefix) && der.length === prefix.length / 2 + pointLength,
  );
  return form === undefined ? null : { curve: form.curve, point: der.slice(form.prefix.length / 2) };
}

/** Builds the SPKI of a canonical point: 32 bytes for Ed25519, else 65 bytes. */
export function buildSpki(curve: CurveName, point: Uint8Array): Uint8Array {
  const form = FORMS.find((candidate) => candidate.curve === curve && candidate.pointLength === point.length);
  if (form === undefined) throw new RangeError(`no SPKI of ${curve} holds a point of ${point.length} bytes`);
  return concatBytes(hexToBytes(form.prefix), point);
}

/** @returns the kind of a key in DER that `parseSpki` does not accept, or null when it is unknown */
export function nameForeignKey(der: Uint8Array): string | null {
  const head = bytesToHex(der.subarray(0, 40));
  return FOREIGN_KEYS.find(([oid]) => head.includes(oid))?.[1] ?? null;
}

/** True for a private key in DER: PKCS #8 (RFC 5208), PKCS #1 and SEC 1 begin with an INTEGER version 0 or 1. */
export function isPrivateKeyDer(der: Uint8Array): boolean {
  return /^30(?:[0-7].|81..|82....)02010[01]/.test(bytesToHex(der.subarray(0, 7)));
}
