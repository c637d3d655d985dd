// Base64 and base64url. Malformed text is refused, never repaired.

const ONE_ALPHABET = /^[A-Za-z0-9]*(?:[+/][A-Za-z0-9+/]*|[_-][A-Za-z0-9_-]*)?={0,2}$/;

/**
 * Decodes base64, standard or URL-safe (not mixed), padded or not. Each byte string has exactly one accepted text in
 * each alphabet, with and without padding.
 * @returns null when the text is malformed: a foreign character, white space, wrong padding, or unused bits that are
 *   not zero (RFC 4648 §3.3 and §3.5)
 */
export function decodeBase64(text: string): Uint8Array | null {
  if (!ONE_ALPHABET.test(text)) return null;
  const bare = text.replace(/={1,2}$/, '');
  if (bare !== text && text.length % 4 !== 0) return null;
  const bytes = Buffer.from(bare, 'base64');
  // What Node has repaired is encoded otherwise.
  const isExact = encodeBase64Url(bytes) === bare.replaceAll('+', '-').replaceAll('/', '_');
  return isExact ? new Uint8Array(bytes) : null;
}

/** Standard base64 with padding (RFC 4648 §4). */
export function encodeBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}

/** Base64url without padding (RFC 4648 §5, RFC 7515 §2). */
export function encodeBase64Url(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64url');
}
