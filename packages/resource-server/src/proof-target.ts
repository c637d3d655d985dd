// Normalises the addresses of requests, so that `htu` can be compared. The caller passes both addresses.

/** The characters of a URI (RFC 3986 §2). Checked before `URL`, because `URL` repairs malformed texts. */
const URI = /^(?:[A-Za-z0-9\-._~:/?#[\]@!$&'()*+,;=]|%[0-9A-Fa-f]{2})+$/;

/**
 * An http or https URI whose authority has no user information (RFC 9110 §4.2.4) and no percent-encoding, which `URL`
 * would decode.
 */
const HTTP_URI = /^https?:\/\/[^/?#@%]+(?:[/?#]|$)/i;

const PERCENT_ENCODED = /%([0-9A-Fa-f]{2})/g;
const UNRESERVED = /[A-Za-z0-9\-._~]/;

/**
 * Normalises an address (RFC 3986 §6.2.2, §6.2.3): case of scheme and host, default and empty port, dot segments, an
 * empty path, percent-encodings. Query and fragment are dropped (RFC 9449 §4.3, check 9).
 * @returns scheme, authority and path; null when the text is not an absolute http or https URI, or has user information
 */
export function normalizeTarget(uri: string): string | null {
  if (!URI.test(uri) || !HTTP_URI.test(uri) || !URL.canParse(uri)) return null;
  const { protocol, host, pathname } = new URL(uri);
  return `${protocol}//${host}${pathname.replaceAll(PERCENT_ENCODED, normalizeEncoding)}`;
}

/** Decodes an unreserved character. Writes every other percent-encoding in upper case. */
function normalizeEncoding(_encoded: string, digits: string): string {
  const character = String.fromCharCode(Number.parseInt(digits, 16));
  return UNRESERVED.test(character) ? character : `%${digits.toUpperCase()}`;
}
