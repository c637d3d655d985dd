// The names of users.

/** Only both fields together identify the user (RFC 7519 §4.1.2). */
export type Subject = { readonly issuer: string; readonly sub: string };

/** Greatest length in characters of a `sub` (OpenID Connect Core §2) and of an issuer. */
export const LONGEST = { sub: 255, issuer: 500 } as const;

const UNSAFE = /[\p{Cc}\p{Cs}]/u;

/** Returns whether a value is a text of 1 to 255 characters without control characters and unpaired surrogates. */
export function isSub(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= LONGEST.sub && !UNSAFE.test(value);
}

/**
 * Returns whether a text is an issuer identifier: an absolute https URL in printable ASCII, without credentials, query
 * or fragment (RFC 8414 §2). Nothing is normalised, because issuers are compared character by character (RFC 8414
 * §3.3).
 */
export function isIssuer(text: string): boolean {
  if (text.length > LONGEST.issuer || !/^https:\/\/[\x21-\x7e]+$/.test(text) || /[?#\\]/.test(text))
    return false;
  try {
    const { username, password, hostname } = new URL(text);
    return username === '' && password === '' && hostname !== '';
  } catch {
    return false;
  }
}
