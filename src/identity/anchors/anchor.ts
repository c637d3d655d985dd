// Types of anchors, and the rules for domain names.
import type { AnchorRow } from './anchor.model.ts';

/** `domain_https`: a file of the domain's web server contains the proof. `domain_dns`: a TXT record contains it. */
export const ANCHOR_TYPES = ['domain_https', 'domain_dns'] as const;
export type AnchorType = (typeof ANCHOR_TYPES)[number];

/** Source: Specification, "Anchor and delegation". */
export const ANCHOR_STATUSES = ['pending', 'verified', 'failed', 'revoked'] as const;
export type AnchorStatus = (typeof ANCHOR_STATUSES)[number];

/** Columns that the checks of proofs alone read. */
export const CHECKED_ONLY = [
  'requestedAt',
  'checks',
  'lastFoundAt',
  'misses',
  'lookedAt',
  'putOffAt',
] as const;

/** `value` is a domain name that `normalizeDomain` has returned. `status` is computed when the row is read. */
export type Anchor = Omit<AnchorRow, (typeof CHECKED_ONLY)[number]>;

/** Days after its creation until a pending anchor fails if its proof was not found. */
export const PROOF_DAYS = 7;

/** Prefix of each proof. It names the purpose of the text to a reader of the file or record. */
export const PROOF_PREFIX = 'countersign-anchor=';

/** Longest domain name in octets: the DNS limit (RFC 1035 §2.3.4) less the TXT record's prefix `_countersign.`. */
const LONGEST_DOMAIN = 253 - '_countersign.'.length;

const LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/** Top-level names that are not public (RFC 6761, 6762, 7686, 9476; ICANN for `internal`), and `arpa`. */
const NEVER_PUBLIC = new Set(['localhost', 'local', 'internal', 'invalid', 'onion', 'alt', 'arpa']);

/**
 * Normalizes a domain name: lower case, A-labels (UTS #46, as in URLs), no dot at the end.
 * @param text a domain name as it was entered
 * @returns the name, or a problem: a scheme, port or path; an IP address in any notation; a single label; a name that
 * the public DNS cannot contain
 */
export function normalizeDomain(text: string): { readonly domain: string } | { readonly problem: string } {
  if (/[:/\\?#@]/.test(text))
    return { problem: 'must be a domain name alone, without scheme, port and path' };
  // Other ASCII characters are refused first, because the URL parser decodes or drops some of them.
  if (!/^[a-z0-9.\-\u0080-\uffff]+$/i.test(text)) return { problem: 'is not a domain name' };
  const domain = hostOf(text)?.replace(/\.$/, '');
  // Newer parsers of URLs look into A-labels only where the host has a letter outside ASCII.
  if (domain === undefined || hostOf(`${domain}.ü`) === undefined) return { problem: 'is not a domain name' };
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
