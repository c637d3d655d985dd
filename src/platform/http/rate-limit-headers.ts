// The fields `RateLimit` and `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers-10); each has an entry per limit.
import type { ServerResponse } from 'node:http';

export const RATE_LIMIT_FIELDS: ReadonlySet<string> = new Set(['ratelimit', 'ratelimit-policy']);

/**
 * The fields of one limit.
 * @param left points that remain
 * @param seconds until all points are available again
 */
export function describeLimit(
  { name, points, window }: { readonly name: string; readonly points: number; readonly window: number },
  { left, seconds }: { readonly left: number; readonly seconds: number },
): Readonly<Record<string, string>> {
  return {
    ratelimit: `"${name}";r=${Math.max(0, left)};t=${seconds}`,
    'ratelimit-policy': `"${name}";q=${points};w=${window}`,
  };
}

/**
 * Sets headers of an answer. The fields of limits are lists, so their new entries are appended.
 * @param headers by lower-case name
 */
export function setHeaders(res: ServerResponse, headers: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(headers)) {
    const before = RATE_LIMIT_FIELDS.has(name) ? res.getHeader(name) : undefined;
    res.setHeader(name, before === undefined ? value : `${String(before)}, ${value}`);
  }
}
