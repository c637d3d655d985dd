// Finds the client's address behind proxies. `X-Forwarded-For` counts only from the operator's proxies, because any
// client can send it.
import ipaddr from 'ipaddr.js';
import { canonicalAddress } from '../egress/address-rules.ts';

type Block = ReturnType<typeof ipaddr.parseCIDR>;

/**
 * @param trustedProxies CIDR blocks of the proxies whose `X-Forwarded-For` counts
 * @returns the rightmost address of the chain that is not a trusted proxy; `unknown` when the connection is closed
 */
export function createAddressReader(trustedProxies: readonly string[]) {
  const blocks = trustedProxies.map((block) => ipaddr.parseCIDR(block));
  return (remote: string | undefined, forwardedFor: string | undefined): string => {
    if (remote === undefined) return 'unknown';
    // An IPv4 address from the system has only one spelling, so it needs no conversion.
    const connected = remote.includes(':') ? (canonicalAddress(withoutZone(remote)) ?? remote) : remote;
    if (blocks.length === 0 || forwardedFor === undefined) return connected;
    const chain = forwardedFor.split(',');
    let address = connected;
    while (chain.length > 0 && isTrusted(address, blocks)) {
      const reported = canonicalAddress(withoutZone(withoutPort(chain.pop()?.trim() ?? '')));
      if (reported === undefined) break;
      address = reported;
    }
    return address;
  };
}

function isTrusted(address: string, blocks: readonly Block[]): boolean {
  const parsed = ipaddr.parse(address);
  return blocks.some(([network, bits]) => network.kind() === parsed.kind() && parsed.match(network, bits));
}

/** Removes the zone of an IPv6 address: `fe80::1%eth0`. */
function withoutZone(text: string): string {
  return text.includes(':') ? (text.split('%')[0] ?? '') : text;
}

/** Removes the port that some proxies add: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
function withoutPort(text: string): string {
  const match = /^\[([^\]]+)\](?::\d+)?$/.exec(text) ?? /^([^:]+):\d+$/.exec(text);
  return match?.[1] ?? text;
}
