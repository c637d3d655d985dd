// The name of a host as operators type it, and the length of a hold. Pure.
import { mayBePlain, receiverHost } from '../../platform/egress/url-rules.ts';

/** How long a host is held: until a time, for so many seconds by the database's clock, or until it is released. */
export type HoldLength = { readonly until: Date } | { readonly seconds: number } | 'released';

/**
 * Reads a host as an operator types it into the form that subscriptions have: lower case, as URLs write it. A name
 * alone means all its ports, a name with a port only that one; a sub-domain is another host. Default ports cannot be
 * named: 443, and 80 of `localhost` and of addresses, which may be sent to without TLS.
 * @returns undefined for a text that is no host: a URL, a path, a pattern, credentials
 */
export function readHost(text: string): string | undefined {
  if (!/^[^\s/\\?#@*]+$/.test(text)) return undefined;
  try {
    const url = new URL(`https://${text}/`);
    if (url.port === '80' && mayBePlain(url.hostname)) url.port = '';
    return url.hostname === '' ? undefined : receiverHost(url);
  } catch {
    return undefined;
  }
}
