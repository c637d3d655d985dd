// Finds the client's address behind proxies. `X-Forwarded-For` counts only from the operator's proxies, because any
// client can send it.
import ipaddr from 'ipaddr.js';

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
    const connected = remote.includes(':') ? (canonicalAddress(remote) ?? remote) : remote;
    if (blocks.length === 0 || forwardedFor === undefined) return connected;
    const chain = forwardedFor.split(',');
    let address = connected;
    while (chain.length > 0 && isTrusted(address, blocks)) {
      const reported = canonicalAddress(withoutPort(chain.pop()?.trim() ?? ''));
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

/** @returns one spelling for each address: IPv4-mapped IPv6 as IPv4, IPv6 compressed */
function canonicalAddress(text: string): string | undefined {
  if (/^\d{1,3}(\.\d{1,3}){3}$/.test(text)) return ipaddr.IPv4.isValid(text) ? text : undefined;
  const bare = text.split('%')[0] ?? '';
  return ipaddr.IPv6.isValid(bare) ? ipaddr.process(bare).toString() : undefined;
}

/** Removes the port that some proxies add: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
function withoutPort(text: string): string {
  const match = /^\[([^\]]+)\](?::\d+)?$/.exec(text) ?? /^([^:]+):\d+$/.exec(text);
  return match?.[1] ?? text;
}
