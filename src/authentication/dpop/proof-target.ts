// Normalises addresses of requests, so that `htu` can be compared. It reads no Host header: the caller passes both
// addresses.

/**
 * The characters of a URI (RFC 3986 §2), with well-formed percent-encodings only. `URL` alone would repair other texts.
 */
const URI = /^(?:[A-Za-z0-9\-._~:/?#[\]@!$&'()*+,;=]|%[0-9A-Fa-f]{2})+$/;

/** An http or https URI with an authority that has no user information (RFC 9110 §4.2.4). */
const HTTP_URI = /^https?:\/\/[^/?#@]+(?:[/?#]|$)/i;

const PERCENT_ENCODED = /%([0-9A-Fa-f]{2})/g;
const UNRESERVED = /[A-Za-z0-9\-._~]/;

/**
 * Normalises the address of a request (RFC 3986 §6.2.2, §6.2.3): case of scheme and host, default and empty port, dot
 * segments, an empty path, percent-encodings. Query and fragment are left out (RFC 9449 §4.3, check 9).
 * @returns scheme, authority and path; null for a text that is no absolute http or https URI, or has user information
 */
export function normalizeTarget(uri: string): string | null {
  if (!URI.test(uri) || !HTTP_URI.test(uri) || !URL.canParse(uri)) return null;
  const { protocol, host, pathname } = new URL(uri);
  return `${protocol}//${host}${pathname.replaceAll(PERCENT_ENCODED, normalizeEncoding)}`;
}

/** Decodes an unreserved character; writes all other encodings in capitals. */
function normalizeEncoding(_encoded: string, digits: string): string {
  const character = String.fromCharCode(Number.parseInt(digits, 16));
  return UNRESERVED.test(character) ? character : `%${digits.toUpperCase()}`;
}
