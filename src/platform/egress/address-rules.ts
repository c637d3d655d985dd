// Decides which IP addresses an outgoing request may reach. Pure: the caller resolves names. Text that is no address is
// refused.

import ipaddr from 'ipaddr.js';

type Address = ReturnType<typeof ipaddr.parse>;

export type Network = readonly [address: Address, prefix: number];

/**
 * The result of {@link judgeAddress}. `address`: the canonical text of the address to connect to (an IPv4-mapped
 * address as IPv4). `reason`: `public` or `admitted` when it is allowed, else the name of the refusing block.
 */
export type AddressVerdict = { allowed: boolean; reason: string; address: string };

const BLOCKED_IPV4 = parseBlocks({
  this_network: ['0.0.0.0/8'],
  private: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16'],
  shared_address_space: ['100.64.0.0/10'],
  loopback: ['127.0.0.0/8'],
  link_local: ['169.254.0.0/16'],
  platform: ['168.63.129.16/32'],
  ietf_protocol: ['192.0.0.0/24'],
  documentation: ['192.0.2.0/24', '198.51.100.0/24', '203.0.113.0/24'],
  as112: ['192.31.196.0/24', '192.175.48.0/24'],
  amt: ['192.52.193.0/24'],
  six_to_four: ['192.88.99.0/24'],
  benchmarking: ['198.18.0.0/15'],
  multicast: ['224.0.0.0/4'],
  reserved: ['240.0.0.0/4'],
});

const BLOCKED_IPV6 = parseBlocks({
  unspecified: ['::/128'],
  loopback: ['::1/128'],
  ipv4_compatible: ['::/96'],
  ipv4_translated: ['::ffff:0:0:0/96'],
  nat64: ['64:ff9b::/96', '64:ff9b:1::/48'],
  discard: ['100::/64'],
  ietf_protocol: ['2001::/23'],
  documentation: ['2001:db8::/32', '3fff::/20'],
  six_to_four: ['2002::/16'],
  as112: ['2620:4f:8000::/48'],
  unique_local: ['fc00::/7'],
  link_local: ['fe80::/10'],
  site_local: ['fec0::/10'],
  multicast: ['ff00::/8'],
});

const GLOBAL_UNICAST_IPV6 = ipaddr.parseCIDR('2000::/3');

function parseBlocks(blocks: Record<string, readonly string[]>): { reason: string; network: Network }[] {
  return Object.entries(blocks).flatMap(([reason, list]) =>
    list.map((block) => ({ reason, network: ipaddr.parseCIDR(block) })),
  );
}

/**
 * Parses CIDR blocks such as `127.0.0.0/8` or `fd00::/8`. A block of IPv4-mapped addresses becomes the corresponding
 * IPv4 block.
 * @throws {Error} that names a text which is not a CIDR block
 */
export function parseNetworks(blocks: readonly string[]): Network[] {
  return blocks.map((block) => {
    if (!ipaddr.isValidCIDR(block)) throw new Error(`not a CIDR block: ${block}`);
    const [address, prefix] = ipaddr.parseCIDR(block);
    if (address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() && prefix >= 96)
      return [address.toIPv4Address(), prefix - 96];
    return [address, prefix];
  });
}

/**
 * Judges whether a request may be sent to an address. Outside the admitted networks it refuses every IANA
 * special-purpose block, every IPv6 address outside 2000::/3, and text that is not an IP address in its usual form. An
 * IPv4-mapped IPv6 address counts as its IPv4 address.
 * @param text an IPv4 address of four decimal parts, or an IPv6 address without brackets
 * @param admitted the networks that the operator admits (`WEBHOOK_ALLOWED_NETWORKS`)
 * @see IANA IPv4 and IPv6 Special-Purpose Address Registries (RFC 6890)
 */
export function judgeAddress(text: string, admitted: readonly Network[]): AddressVerdict {
  const address = parseAddress(text);
  if (address === undefined) return { allowed: false, reason: 'not_an_address', address: text };
  const canonical = address.toString();
  if (admitted.some((network) => contains(network, address)))
    return { allowed: true, reason: 'admitted', address: canonical };
  const reason = blockOf(address);
  return { allowed: reason === undefined, reason: reason ?? 'public', address: canonical };
}

/**
 * Orders addresses so that the families take turns, from the family of the first address on, each in its own order.
 * @see RFC 8305 §4
 */
export function alternateFamilies(verdicts: readonly AddressVerdict[]): AddressVerdict[] {
  const isFirstFamily = ({ address }: AddressVerdict) =>
    address.includes(':') === verdicts[0]?.address.includes(':');
  const first = verdicts.filter(isFirstFamily);
  const second = verdicts.filter((verdict) => !isFirstFamily(verdict));
  const longer = first.length > second.length ? first : second;
  return longer.flatMap((_, index) => [...first.slice(index, index + 1), ...second.slice(index, index + 1)]);
}

/** @returns the canonical text of an IP address, an IPv4-mapped address as IPv4; undefined for other text */
export function canonicalAddress(text: string): string | undefined {
  return parseAddress(text)?.toString();
}

function parseAddress(text: string): Address | undefined {
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return ipaddr.IPv4.parse(text);
  if (!ipaddr.IPv6.isValid(text)) return undefined;
  // The parser would read an IPv4-compatible address (::127.0.0.1) as IPv4-mapped. With an explicit zero group it does
  // not.
  const address = ipaddr.IPv6.parse(text.replace(/^::(?=\d+\.)/, '::0:'));
  return address.isIPv4MappedAddress() ? address.toIPv4Address() : address;
}

function blockOf(address: Address): string | undefined {
  const blocks = address.kind() === 'ipv4' ? BLOCKED_IPV4 : BLOCKED_IPV6;
  const block = blocks.find(({ network }) => contains(network, address));
  if (block !== undefined) return block.reason;
  return address.kind() === 'ipv4' || contains(GLOBAL_UNICAST_IPV6, address) ? undefined : 'not_global';
}

function contains([base, prefix]: Network, address: Address): boolean {
  return base.kind() === address.kind() && address.match(base, prefix);
}
