// Users. The pair (issuer, sub) identifies a user, and a UUID represents the user in a tenant's tokens.
import { sha256 } from '@noble/hashes/sha2.js';
import { parse, stringify } from 'uuid';

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

/**
 * Computes the UUID of a user in a tenant from the tenant's id, `issuer` and `sub`, so no row is needed. Each tenant
 * has a different UUID for the same user. It is a UUIDv8 from SHA-256 (RFC 9562 §5.8, §6.5), and never equals the id of
 * an agent or an application, because those are UUIDv7.
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
