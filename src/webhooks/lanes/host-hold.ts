// Which endpoints the name of a host means, and how long it may be held. Pure.

/** How long a host is held: until a time, for so many seconds by the database's clock, or until it is released. */
export type HoldLength = { readonly until: Date } | { readonly seconds: number } | 'released';

/**
 * A host as an operator types it, as subscriptions have theirs: lower case, in the form that URLs give it. A name alone means all its
 * ports, a name with a port only that; sub-domains are hosts of their own. Port 443, which URLs leave out, cannot be named.
 * @returns undefined for what is no host: a URL, a path, a pattern, credentials
 */
export function readHost(text: string): string | undefined {
  if (!/^[^\s/\\?#@*]+$/.test(text)) return undefined;
  try {
    const { host, hostname } = new URL(`https://${text}/`);
    return hostname === '' ? undefined : host;
  } catch {
    return undefined;
  }
}
