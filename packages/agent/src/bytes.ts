// Bytes as text and as hashes, by what every JavaScript runtime has.

export const encodeText = (text: string): Uint8Array => new TextEncoder().encode(text);

/** Standard base64 with padding. */
export function encodeBase64(bytes: Uint8Array): string {
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''));
}

/** base64url without padding (RFC 7515 §2). */
export function encodeBase64Url(bytes: Uint8Array): string {
  return encodeBase64(bytes).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

/** Takes base64 and base64url, with and without padding. @throws {DOMException} for anything else */
export function decodeBase64(text: string): Uint8Array {
  const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/').replaceAll('=', ''));
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}

export function encodeHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

export async function sha256(bytes: Uint8Array): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', asSource(bytes)));
}

/** WebCrypto takes no bytes of shared memory; an array that has any other memory is passed as it is. */
export function asSource(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return bytes.buffer instanceof ArrayBuffer ? (bytes as Uint8Array<ArrayBuffer>) : new Uint8Array(bytes);
}
