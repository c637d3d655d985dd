// What limits count as one client by its address. Pure: it must never look anything up.
import ipaddr from 'ipaddr.js';

/** An IPv4 address as it is; of an IPv6 address the /64 network, which one client has to itself. */
export function addressGroup(address: string): string {
  if (!address.includes(':')) return address;
  const parts = ipaddr.IPv6.isValid(address) ? ipaddr.IPv6.parse(address).parts : [];
  return parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(':');
}
