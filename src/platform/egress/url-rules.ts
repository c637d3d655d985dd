// Decides which URLs a webhook receiver may have. Pure: only the text is judged here, the addresses when a connection
// is opened.

import { canonicalAddress, judgeAddress, type Network } from './address-rules.ts';

export const MAX_URL_LENGTH = 2048;

type UrlRefusal =
  | 'too_long'
  | 'malformed'
  | 'scheme'
  | 'credentials'
  | 'fragment'
  | 'host'
  | 'port'
  | 'plain_http'
  | 'blocked_address';

/**
 * `url`: the parsed, normalised URL. `message`: for the client that sent the URL. `block`: the block that refuses its
 * address.
 */
export type UrlVerdict =
  | { ok: true; url: URL }
  | { ok: false; reason: UrlRefusal; message: string; block?: string | undefined };

const MAX_HOSTNAME_LENGTH = 253;

// The bad ports of the Fetch standard (§2.9 Port blocking), whose services could misread an HTTP request.
const BAD_PORTS = new Set(
  (
    '0 1 7 9 11 13 15 17 19 20 21 22 23 25 37 42 43 53 69 77 79 87 95 101 102 103 104 109 110 111 113 115 117 119 123 135 ' +
    '137 139 143 161 179 389 427 465 512 513 514 515 526 530 531 532 540 548 554 556 563 587 601 636 989 990 993 995 1719 ' +
    '1720 1723 2049 3659 4045 4190 5060 5061 6000 6566 6665 6666 6667 6668 6669 6679 6697 10080'
  ).split(' '),
);

/**
 * Judges a receiver URL: `https` to any name or public address; `http` only to exactly `localhost` or to an IP literal
 * in an admitted network. Refuses credentials, fragments, other local names, ports of other services, and blocked IP
 * literals. The parsed host is judged, so the notation of a literal does not matter. The name need not resolve yet.
 * @param text the URL as it was sent
 * @param admitted the networks that the operator admits
 */
export function checkReceiverUrl(text: string, admitted: readonly Network[]): UrlVerdict {
  if (text.length > MAX_URL_LENGTH)
    return refuse('too_long', `must be at most ${MAX_URL_LENGTH} characters long`);
  if (hasForbiddenCharacter(text))
    return refuse('malformed', 'must not contain spaces, control characters or backslashes');
  const url = parseUrl(text);
  if (url === undefined)
    return refuse('malformed', 'must be an absolute URL, such as https://example.com/hooks');
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    return refuse('scheme', 'must begin with https://');
  if (url.username !== '' || url.password !== '')
    return refuse('credentials', 'must not contain a user name or a password');
  if (text.includes('#')) return refuse('fragment', 'must not contain a fragment');
  if (BAD_PORTS.has(url.port)) return refuse('port', `must not use port ${url.port}`);
  return checkHost(url, admitted);
}

/** @returns the form in which a receiver URL is stored; undefined for text that {@link checkReceiverUrl} cannot read */
export function normalizeReceiverUrl(text: string): string | undefined {
  return hasForbiddenCharacter(text) ? undefined : parseUrl(text)?.href;
}

/** The host of a receiver's URL, with a port that is not the scheme's default; an IPv4-mapped address as IPv4. */
export function receiverHost({ host, hostname, port }: URL): string {
  const literal = addressLiteral(hostname);
  if (literal === undefined || literal.includes(':')) return host;
  return port === '' ? literal : `${literal}:${port}`;
}

/** True when the text of this host permits plain `http`: see {@link checkReceiverUrl}. */
export function mayBePlain(hostname: string): boolean {
  return hostname === 'localhost' || addressLiteral(hostname) !== undefined;
}

function checkHost(url: URL, admitted: readonly Network[]): UrlVerdict {
  const { hostname } = url;
  if (hostname.length > MAX_HOSTNAME_LENGTH) return refuse('host', 'has a host name that is too long');
  if (hostname.endsWith('.')) return refuse('host', 'must not have a host name that ends with a dot');
  if (hostname.endsWith('.localhost')) return refuse('host', 'must not be a name under localhost');
  if (hostname === 'localhost') {
    const local = ['127.0.0.1', '::1'].some((address) => judgeAddress(address, admitted).allowed);
    return local
      ? { ok: true, url }
      : refuse('blocked_address', 'must not point to localhost on this server', 'loopback');
  }
  const literal = addressLiteral(hostname);
  if (literal === undefined)
    return url.protocol === 'https:' ? { ok: true, url } : refuse('plain_http', 'must begin with https://');
  const verdict = judgeAddress(literal, admitted);
  if (!verdict.allowed) {
    const message = `must not point to ${verdict.address} (${verdict.reason})`;
    return refuse('blocked_address', message, verdict.reason);
  }
  if (url.protocol === 'http:' && verdict.reason !== 'admitted')
    return refuse('plain_http', 'must begin with https://');
  return { ok: true, url };
}

function refuse(reason: UrlRefusal, message: string, block?: string): UrlVerdict {
  return { ok: false, reason, message, block };
}

function parseUrl(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}

// The URL parser drops tabs and line feeds and reads a backslash as a slash; other programs would read another URL.
function hasForbiddenCharacter(text: string): boolean {
  for (const character of text) {
    if (character <= ' ' || character === '\u007f' || character === '\\') return true;
  }
  return false;
}

function addressLiteral(hostname: string): string | undefined {
  return canonicalAddress(hostname.startsWith('[') ? hostname.slice(1, -1) : hostname);
}
