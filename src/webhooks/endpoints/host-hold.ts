// Which endpoints the name of a host means, and how long it may be held. Pure.
import { mayBePlain, receiverHost } from '../../platform/egress/url-rules.ts';

/** How long a host is held: until a time, for so many seconds by the database's clock, or until it is released. */
export type HoldLength = { readonly until: Date } | { readonly seconds: number } | 'released';

/**
 * A host as an operator types it, as subscriptions have theirs: lower case, in the form that URLs give it. A name alone means all its
 * ports, a name with a port only that; sub-domains are hosts of their own. What URLs leave out cannot be named: port 443, and port 80 of
 * `localhost` and of addresses, which may be sent to without TLS.
 * @returns undefined for what is no host: a URL, a path, a pattern, credentials
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
