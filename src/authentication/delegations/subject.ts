// A user as the pair (issuer, sub), and the UUID that identifies the user in a tenant's tokens.
import { sha256 } from '@noble/hashes/sha2.js';
import { parse, stringify } from 'uuid';

/**
 * A user as named by the issuer of the user's tokens. Only both halves together identify the user (RFC 7519 §4.1.2).
 */
export type Subject = { readonly issuer: string; readonly sub: string };

/** Characters of the longest `sub` (OpenID Connect Core §2) and of the longest issuer. */
export const LONGEST = { sub: 255, issuer: 500 } as const;

const UNSAFE = /[\p{Cc}\p{Cs}]/u;

/** Whether a text can be a `sub`: neither empty nor too long, without control characters and unpaired surrogates. */
export function isSub(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= LONGEST.sub && !UNSAFE.test(value);
}

/**
 * Whether a text is an issuer identifier: an absolute https URL without credentials, query and fragment (RFC 8414 §2),
 * in printable ASCII. Issuers are compared character by character (RFC 8414 §3.3), so nothing is normalised.
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

/**
 * The UUID of a user in a tenant: always the same for the same three values, and different in each tenant. It is a
 * UUIDv8 from SHA-256 over the tenant's id and the pair (RFC 9562 §5.8 and §6.5), so it needs no row. It never equals
 * the id of an agent or an application, because those are UUIDv7.
 * @param tenantId UUID
 */
export function subjectId(tenantId: string, { issuer, sub }: Subject): string {
  const name = new TextEncoder().encode(JSON.stringify([issuer, sub]));
  const digest = sha256(Uint8Array.of(...parse(tenantId), ...name));
  const bytes = digest.slice(0, 16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x80;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return stringify(bytes);
}
