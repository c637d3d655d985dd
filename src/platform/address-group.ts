// Groups client addresses for limits: addresses of one group count as one client. Pure.
import ipaddr from 'ipaddr.js';

/** @returns an IPv4 address unchanged; for an IPv6 address its /64 network, which usually belongs to one client */
export function addressGroup(address: string): string {
  if (!address.includes(':')) return address;
  const parts = ipaddr.IPv6.isValid(address) ? ipaddr.IPv6.parse(address).parts : [];
  return parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(':');
}
