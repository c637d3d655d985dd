// Resolves the host names of outgoing requests. It queries DNS directly, because the system's resolver blocks one of a
// few threads, so that slow names of one tenant would delay all tenants.

import { promises as dns } from 'node:dns';
import { canonicalAddress } from './address-rules.ts';

/**
 * Resolves a host name to all its addresses, and an IP literal to itself. Rejects with a `code` when there are none.
 */
export type AddressLookup = (hostname: string) => Promise<string[]>;

// DNS has no such name (of this type), or no DNS server answers. The hosts file of the system may still have the name.
const UNKNOWN_TO_DNS = new Set(['ENOTFOUND', 'ENODATA', 'ECONNREFUSED']);

/** Names that only an internal network has, of a cluster too (RFC 6762, RFC 8375, ICANN's reserved `internal`). */
const INTERNAL_NAME = /\.(?:local|internal|home\.arpa)\.?$/i;

/**
 * Makes a lookup that queries DNS for IPv4 and IPv6 addresses and returns IPv4 first. It queries the system's resolver
 * for names without a dot and for names that DNS does not know.
 * @param internalNames false: the system resolves only `localhost`, and nobody an internal name. Needed where a
 *   tenant chooses the name and sees the result, which would reveal names of the internal network
 * @param resolver queries DNS; the default gives each server 2.5 s, twice
 * @param lookupInSystem queries the system's resolver
 */
export function createAddressLookup({
  internalNames = true,
  resolver = new dns.Resolver({ timeout: 2500, tries: 2 }),
  lookupInSystem = askSystem,
}: {
  internalNames?: boolean | undefined;
  resolver?: { resolve4: AddressLookup; resolve6: AddressLookup };
  lookupInSystem?: AddressLookup;
} = {}): AddressLookup {
  return async (hostname) => {
    if (canonicalAddress(hostname) !== undefined) return [hostname];
    if (hostname === 'localhost' || (internalNames && !hostname.includes('.')))
      return lookupInSystem(hostname);
    if (!internalNames && INTERNAL_NAME.test(hostname)) throw unknownName();
    const answers = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
    const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    if (addresses.length > 0) return addresses;
    const failures = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason] : []));
    const failure = failures.find((reason) => !UNKNOWN_TO_DNS.has(reason?.code));
    if (failure !== undefined) throw failure;
    if (!internalNames) throw unknownName();
    return lookupInSystem(hostname);
  };
}

const unknownName = () => Object.assign(new Error('DNS does not know this name'), { code: 'ENOTFOUND' });

async function askSystem(hostname: string): Promise<string[]> {
  const answers = await dns.lookup(hostname, { all: true, order: 'ipv4first' });
  return answers.map(({ address }) => address);
}
