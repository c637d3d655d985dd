// Parses client credentials of HTTP Basic. A malformed header is refused, and errors repeat no part of it.
import { decodeBase64 } from '../../platform/crypto/base64.ts';

export type ClientCredentials = { readonly clientId: string; readonly clientSecret: string };

/**
 * Parses an `Authorization` header of the Basic scheme: base64 of `id:secret`, split at the first colon. Each part is
 * form-decoded: `+` is a space, `%XX` a byte of UTF-8 (RFC 6749 §2.3.1, RFC 7617 §2).
 * @returns the credentials; `absent` for no header or another scheme; `malformed` for a Basic header that is not base64
 * or not UTF-8, has no colon, or has a `%` without two hex digits
 */
export function parseBasicCredentials(
  header: string | undefined,
): ClientCredentials | 'absent' | 'malformed' {
  const encoded = header === undefined ? null : /^basic(?: +([^ ].*)?)?$/is.exec(header.trim());
  if (encoded === null) return 'absent';
  const bytes = decodeBase64(encoded[1] ?? '');
  const text = bytes === null ? null : decodeUtf8(bytes);
  const colon = text?.indexOf(':') ?? -1;
  if (text === null || colon === -1) return 'malformed';
  const clientId = decodeFormPart(text.slice(0, colon));
  const clientSecret = decodeFormPart(text.slice(colon + 1));
  return clientId === null || clientSecret === null ? 'malformed' : { clientId, clientSecret };
}

function decodeUtf8(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

function decodeFormPart(text: string): string | null {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return null;
  }
}
