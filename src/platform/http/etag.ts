// Makes and compares entity tags. Koa's check returns false for `cache-control: no-cache`, which fetch sends with
// If-None-Match.
import { createHash } from 'node:crypto';

/** @returns the strong tag of these texts (RFC 9110 §8.8.3) */
export function tagOf(texts: readonly (string | Buffer)[]): string {
  const hash = createHash('sha256');
  for (const text of texts) hash.update(text);
  return `"${hash.digest('base64url')}"`;
}

/** True when an `If-None-Match` names the tag; weak tags compare as equal (RFC 9110 §13.1.2). */
export function matchesEtag(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  if (ifNoneMatch.trim() === '*') return true;
  const bare = etag.replace(/^W\//, '');
  return ifNoneMatch.split(',').some((candidate) => candidate.trim().replace(/^W\//, '') === bare);
}
