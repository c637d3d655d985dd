// Scope lists: their canonical order and the hash in a challenge.
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex } from '@noble/hashes/utils.js';

/** Scope-tokens of RFC 6749 §3.3 (visible ASCII without `"` and `\`), separated by spaces. */
const SCOPE_LIST = /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/;

/**
 * Splits a `scope` parameter. Repeated scopes and repeated spaces are allowed.
 * @returns the scopes, unique and sorted by byte value (an empty list for a text without scopes); null when a character
 *   is forbidden (RFC 6749 §3.3)
 */
export function parseScope(scope: string): string[] | null {
  if (!SCOPE_LIST.test(scope)) return null;
  return canonicalizeScopes(scope.split(' ').filter((token) => token !== ''));
}

/** @returns the scopes, unique and sorted by byte value, which for ASCII is the order of `sort` */
export function canonicalizeScopes(scopes: Iterable<string>): string[] {
  return [...new Set(scopes)].sort();
}

/**
 * Lowercase hex SHA-256 of the scopes, unique, sorted by byte value and joined by one space.
 * Source: Specification, "Challenge" (`scope_hash`).
 */
export function hashScopes(scopes: Iterable<string>): string {
  return bytesToHex(sha256(new TextEncoder().encode(canonicalizeScopes(scopes).join(' '))));
}
