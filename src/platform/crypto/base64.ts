// Base64 and base64url for bytes in Node.js, browsers and workers. Malformed text is refused, never repaired.

const STANDARD = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const URL_SAFE = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

const ONE_ALPHABET = /^[A-Za-z0-9]*(?:[+/][A-Za-z0-9+/]*|[_-][A-Za-z0-9_-]*)?={0,2}$/;

/** The six bits of each base64 character, by character code. Both alphabets share this table. */
const SEXTETS = buildSextets();

function buildSextets(): Uint8Array {
  const sextets = new Uint8Array(128);
  for (const alphabet of [STANDARD, URL_SAFE]) {
    for (let value = 0; value < 64; value++) sextets[alphabet.charCodeAt(value)] = value;
  }
  return sextets;
}

/**
 * Decodes base64, standard or URL-safe (not mixed), padded or not. Each byte string has exactly one accepted text in
 * each alphabet, with and without padding.
 * @returns null when the text is malformed: a foreign character, white space, wrong padding, or unused bits that are
 *   not zero (RFC 4648 §3.3 and §3.5)
 */
export function decodeBase64(text: string): Uint8Array | null {
  if (!ONE_ALPHABET.test(text)) return null;
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  if (padding > 0 && text.length % 4 !== 0) return null;
  const length = text.length - padding;
  if (length % 4 === 1) return null;

  const bytes = new Uint8Array(Math.floor((length * 6) / 8));
  let buffer = 0;
  let bits = 0;
  let written = 0;
  for (let index = 0; index < length; index++) {
    buffer = ((buffer << 6) | (SEXTETS[text.charCodeAt(index)] ?? 0)) & 0xffff;
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      bytes[written++] = (buffer >> bits) & 0xff;
    }
  }
  const unused = buffer & ((1 << bits) - 1);
  return unused === 0 ? bytes : null;
}

/** Standard base64 with padding (RFC 4648 §4). */
export function encodeBase64(bytes: Uint8Array): string {
  const text = encodeWith(STANDARD, bytes);
  return text + '='.repeat((4 - (text.length % 4)) % 4);
}

/** Base64url without padding (RFC 4648 §5, RFC 7515 §2). */
export function encodeBase64Url(bytes: Uint8Array): string {
  return encodeWith(URL_SAFE, bytes);
}

function encodeWith(alphabet: string, bytes: Uint8Array): string {
  let text = '';
  let buffer = 0;
  let bits = 0;
  for (const byte of bytes) {
    buffer = ((buffer << 8) | byte) & 0xffff;
    bits += 8;
    while (bits >= 6) {
      bits -= 6;
      text += alphabet.charAt((buffer >> bits) & 0x3f);
    }
  }
  return bits > 0 ? text + alphabet.charAt((buffer << (6 - bits)) & 0x3f) : text;
}
