// What an anchor is: a domain name that an agent's owner controls, and the rules for such names. Types and rules only.
import type { AnchorRow } from './anchor.model.ts';

/** Where the proof is looked for: a file of the domain's web server, or a TXT record below the domain. */
export const ANCHOR_TYPES = ['domain_https', 'domain_dns'] as const;
export type AnchorType = (typeof ANCHOR_TYPES)[number];

/** Source: Specification, "Anchor and delegation". */
export const ANCHOR_STATUSES = ['pending', 'verified', 'failed', 'revoked'] as const;
export type AnchorStatus = (typeof ANCHOR_STATUSES)[number];

/** `value` is a domain name as `normalizeDomain` gives it. `status` is as of the moment of reading. */
export type Anchor = Omit<
  AnchorRow,
  'requestedAt' | 'checks' | 'lastFoundAt' | 'misses' | 'lookedAt' | 'putOffAt'
>;

/** Days from an anchor's creation until a proof that was not found is not looked for any more. */
export const PROOF_DAYS = 7;

/** What a proof begins with, so that whoever finds it knows what it is for. */
export const PROOF_PREFIX = 'countersign-anchor=';

/** Octets of a name in the DNS (RFC 1035 §2.3.4), less those of `_countersign.`, below which a record is looked for. */
const LONGEST_DOMAIN = 253 - '_countersign.'.length;

const LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/** Names that no public DNS has (RFC 6761, RFC 6762, RFC 7686, RFC 9476; `internal` by ICANN), and that of reverse lookups. */
const NEVER_PUBLIC = new Set(['localhost', 'local', 'internal', 'invalid', 'onion', 'alt', 'arpa']);

/**
 * A domain name in its one form: lower case, A-labels (UTS #46 as URLs have it), without a dot at its end.
 * @param text what somebody calls his domain
 * @returns the name, or what is wrong with the text: a scheme, port or path; an IP address in any notation; a single label; a name
 *   that the public DNS cannot have
 */
export function normalizeDomain(text: string): { readonly domain: string } | { readonly problem: string } {
  if (/[:/\\?#@]/.test(text))
    return { problem: 'must be a domain name alone, without scheme, port and path' };
  // ASCII that no domain name has; the URL parser would decode or drop some of it.
  if (!/^[a-z0-9.\-\u0080-\uffff]+$/i.test(text)) return { problem: 'is not a domain name' };
  const domain = hostOf(text)?.replace(/\.$/, '');
  if (domain === undefined) return { problem: 'is not a domain name' };
  const labels = domain.split('.');
  const last = labels.at(-1) ?? '';
  if (/^\d+$/.test(last)) return { problem: 'must not be an IP address' };
  if (!labels.every((label) => LABEL.test(label))) return { problem: 'is not a domain name' };
  if (domain.length > LONGEST_DOMAIN)
    return { problem: `must be at most ${LONGEST_DOMAIN} characters in ASCII form` };
  if (labels.length < 2) return { problem: 'must be a domain name with at least two labels' };
  if (NEVER_PUBLIC.has(last)) return { problem: 'is not a name of the public DNS' };
  return { domain };
}

function hostOf(text: string): string | undefined {
  try {
    return new URL(`https://${text}/`).hostname;
  } catch {
    return undefined;
  }
}
