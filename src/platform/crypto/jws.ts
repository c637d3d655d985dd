// Signed tokens (RFC 7515): the kind of key of each algorithm, and the strict parser of the compact form. The parser
// verifies no signature; jws.node.ts does.
import { isObject } from '../json-values.ts';
import { decodeBase64 } from './base64.ts';
import type { JwkKind } from './jwk.ts';

/**
 * The kind of key of each signature algorithm (RFC 7518 §3.1, RFC 8037 §3.1, RFC 9864 §2.2), asymmetric algorithms
 * only. `EdDSA` is the older name of `Ed25519`. ES256K is missing because few JOSE libraries support it.
 */
export const JWS_ALGORITHMS = {
  RS256: 'RSA',
  RS384: 'RSA',
  RS512: 'RSA',
  PS256: 'RSA',
  PS384: 'RSA',
  PS512: 'RSA',
  ES256: 'P-256',
  ES384: 'P-384',
  ES512: 'P-521',
  EdDSA: 'Ed25519',
  Ed25519: 'Ed25519',
} as const satisfies Readonly<Record<string, JwkKind>>;

export type JwsAlgorithm = keyof typeof JWS_ALGORITHMS;

/** The most characters of a token: more than this service issues, fewer than a header may have. */
export const LONGEST_TOKEN = 8_192;

/** `signed`: the first two parts with their dot, over which the signature is made. */
export type CompactJws = {
  readonly header: Readonly<Record<string, unknown>>;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly signed: string;
  readonly signature: Uint8Array;
};

const COMPACT = /^([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)$/;

/**
 * Parses `header.payload.signature` (RFC 7515 §7.1).
 * @returns null unless it has three non-empty parts in canonical base64url without padding, header and payload are JSON
 *   objects in UTF-8, and the whole has at most 8,192 characters
 */
export function parseCompactJws(token: string): CompactJws | null {
  const parts = token.length <= LONGEST_TOKEN ? COMPACT.exec(token) : null;
  if (parts === null) return null;
  const [, encodedHeader = '', encodedPayload = '', encodedSignature = ''] = parts;
  const header = decodeObject(encodedHeader);
  const payload = decodeObject(encodedPayload);
  const signature = decodeBase64(encodedSignature);
  if (header === null || payload === null || signature === null) return null;
  return { header, payload, signature, signed: `${encodedHeader}.${encodedPayload}` };
}

function decodeObject(encoded: string): Readonly<Record<string, unknown>> | null {
  const bytes = decodeBase64(encoded);
  if (bytes === null) return null;
  try {
    const value: unknown = JSON.parse(
      new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes),
    );
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}
