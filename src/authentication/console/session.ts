// Rules of the console's sessions: their cookie, and which requests a browser may send with it.

/** What a request says of where it comes from. */
export type RequestOrigin = {
  readonly origin: string | undefined;
  /** The header `Sec-Fetch-Site` (Fetch Metadata). */
  readonly site: string | undefined;
};

const NAME = 'countersign-console';

/** Over https the prefix makes browsers refuse the cookie where it lacks `Secure`. `__Host-` would forbid the path. */
const nameOf = (baseUrl: string) => (baseUrl.startsWith('https:') ? `__Secure-${NAME}` : NAME);

/** The path of a tenant's address, without a slash at its end. */
export function pathOf(baseUrl: string): string {
  return new URL(baseUrl).pathname.replace(/\/$/, '');
}

/**
 * Makes the header `Set-Cookie`. No browser sends the cookie with a request of another site, or to another path than
 * the tenant's console; no script can read it.
 * @param secret undefined removes the cookie
 */
export function writeCookie(baseUrl: string, secret: string | undefined): string {
  const parts = [
    `${nameOf(baseUrl)}=${secret ?? ''}`,
    `Path=${pathOf(baseUrl)}/console`,
    'HttpOnly',
    'SameSite=Strict',
    ...(baseUrl.startsWith('https:') ? ['Secure'] : []),
    ...(secret === undefined ? ['Max-Age=0'] : []),
  ];
  return parts.join('; ');
}

/** Reads the session's secret in the header `Cookie`. @returns undefined when it has none, or more than one */
export function readCookie(baseUrl: string, header: string | undefined): string | undefined {
  const start = `${nameOf(baseUrl)}=`;
  const found = (header ?? '')
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(start));
  const [pair] = found;
  return pair === undefined || found.length > 1 ? undefined : pair.slice(start.length);
}

/** Whether the tenant's own page, or a program that is no browser, sent the request. */
export function isOwnRequest(baseUrl: string, { origin, site }: RequestOrigin): boolean {
  if (site !== undefined && site !== 'same-origin') return false;
  return origin === undefined || origin === new URL(baseUrl).origin;
}
