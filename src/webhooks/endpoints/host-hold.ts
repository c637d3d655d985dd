// Parses host names that operators type, defines the length of a hold, and words what a host fails with. Pure.
import { mayBePlain, receiverHost } from '../../platform/egress/url-rules.ts';

/** The length of a hold: until a time, for some seconds by the database's clock, or until it is released. */
export type HoldLength = { readonly until: Date } | { readonly seconds: number } | 'released';

/** How many endpoints failed last with a code such as `http:503`. */
type ErrorCount = { readonly error: string; readonly endpoints: number };

/** The failing endpoints of one host. `errors` are the codes of their latest failures, the most frequent first. */
export type FailingHost = {
  readonly host: string;
  readonly errors: readonly ErrorCount[];
  readonly endpoints: number;
  readonly tenants: number;
  readonly closed: number;
  readonly failingSince: Date;
};

/** @returns `http:503`, or `http:503 4, timeout 1` where there are several */
export function wordErrors(errors: readonly ErrorCount[]): string {
  const [only] = errors;
  if (only !== undefined && errors.length === 1) return only.error;
  return errors.map(({ error, endpoints }) => `${error} ${endpoints}`).join(', ');
}

const NO_HOST = /[\s/\\?#@*]/;

/**
 * Parses a host that an operator types. The result has the form of a URL's host, in lower case. A name alone means all
 * its ports, a name with a port only that port. A sub-domain is another host. Default ports cannot be named: 443, and
 * 80 of hosts to which HTTP without TLS is allowed.
 * @returns undefined for a text that is no host: a URL, a path, a pattern, credentials
 */
export function readHost(text: string): string | undefined {
  if (NO_HOST.test(text)) return undefined;
  try {
    const url = new URL(`https://${text}/`);
    if (url.port === '80' && mayBePlain(url.hostname)) url.port = '';
    // A parser of URLs decodes %2a, and other forms of the asterisk.
    return url.hostname === '' || NO_HOST.test(url.hostname) ? undefined : receiverHost(url);
  } catch {
    return undefined;
  }
}
