// Computes from the headers of a fetched JWK set how long the set may be used.

/** Milliseconds for which a fetched set is fresh: the limits, and the default when the answer does not say it. */
export const FRESHNESS = { least: 60_000, most: 3_600_000, usual: 600_000 } as const;

/** Milliseconds for which a set is still used after its freshness while its address does not answer. */
export const STALE = 900_000;

type Header = string | readonly string[] | undefined;

/**
 * Computes the freshness of an answer in milliseconds (RFC 9111 §4.2): `max-age` less `Age`, within the limits. For
 * `no-store` and `no-cache` it is the minimum. A malformed value counts as absent.
 */
export function freshnessOf(headers: { readonly [name: string]: Header }): number {
  const control = textOf(headers['cache-control']).toLowerCase();
  const directives = control.split(',').map((directive) => directive.trim());
  if (directives.includes('no-store') || directives.includes('no-cache')) return FRESHNESS.least;
  const maxAge = secondsOf(directives.find((directive) => directive.startsWith('max-age='))?.slice(8));
  if (maxAge === undefined) return FRESHNESS.usual;
  const age = secondsOf(textOf(headers.age)) ?? 0;
  return Math.min(FRESHNESS.most, Math.max(FRESHNESS.least, (maxAge - age) * 1_000));
}

function textOf(header: Header): string {
  return typeof header === 'string' ? header : (header ?? []).join(',');
}

function secondsOf(text: string | undefined): number | undefined {
  const digits = /^"?(\d{1,10})"?$/.exec(text?.trim() ?? '')?.[1];
  return digits === undefined ? undefined : Number(digits);
}
