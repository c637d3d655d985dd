// Base64 and base64url. Malformed text is refused, never repaired.

/**
 * Decodes base64, standard or URL-safe (not mixed), padded or not. Each byte string has exactly one accepted text in
 * each alphabet, with and without padding.
 * @returns null when the text is malformed: a foreign character, white space, wrong padding, or unused bits that are
 *   not zero (RFC 4648 §3.3 and §3.5)
 */
export function decodeBase64(text: string): Uint8Array | null {
  const bytes = Buffer.from(text, 'base64');
  // Node repairs: text that it would not write itself is refused.
  const standard = bytes.toString('base64');
  const url = bytes.toString('base64url');
  const padding = standard.slice(url.length);
  const isExact = [standard, url, standard.slice(0, url.length), url + padding].includes(text);
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
