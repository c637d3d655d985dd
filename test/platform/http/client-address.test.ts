// Whom the service believes about where a request comes from.
import { describe, expect, it } from 'vitest';
import { addressGroup } from '../../../src/platform/address-group.ts';
import { createAddressReader } from '../../../src/platform/http/client-address.ts';

describe("the client's address", () => {
  const trusting = createAddressReader(['10.0.0.0/8', '192.0.2.7/32', 'fd00::/8']);
  it.each([
    [
      'the connection, when nobody is trusted',
      createAddressReader([]),
      '198.51.100.1',
      '203.0.113.9',
      '198.51.100.1',
    ],
    [
      'the connection, when a stranger sends the header',
      trusting,
      '198.51.100.1',
      '203.0.113.9',
      '198.51.100.1',
    ],
    ['what a trusted proxy reports', trusting, '10.1.2.3', '203.0.113.9', '203.0.113.9'],
    [
      'the rightmost untrusted of a chain',
      trusting,
      '10.1.2.3',
      '1.1.1.1, 203.0.113.9, 10.9.9.9,192.0.2.7',
      '203.0.113.9',
    ],
    ['the leftmost, when all are trusted', trusting, '10.1.2.3', '10.0.0.1, 10.0.0.2', '10.0.0.1'],
    ['the proxy, when the header is nonsense', trusting, '10.1.2.3', '203.0.113.9, unknown', '10.1.2.3'],
    ['the proxy, when the header is empty', trusting, '10.1.2.3', '', '10.1.2.3'],
    ['an IPv4-mapped connection as IPv4', trusting, '::ffff:10.1.2.3', '203.0.113.9', '203.0.113.9'],
    ['an address without its port', trusting, '10.1.2.3', '203.0.113.9:4711', '203.0.113.9'],
    ['an IPv6 address without its port', trusting, 'fd00::1', '[2001:DB8:0::1]:4711', '2001:db8::1'],
    ['an IPv6 address without its zone', createAddressReader([]), 'fe80::1%eth0', undefined, 'fe80::1'],
    ['the proxy, when a number begins with zero', trusting, '10.1.2.3', '203.0.113.09', '10.1.2.3'],
    ['the proxy, when an IPv4 address has a zone', trusting, '10.1.2.3', '203.0.113.9%1', '10.1.2.3'],
    ['no IPv4 address in IPv6 that is not mapped', trusting, '10.1.2.3', '::10.0.0.1', '::a00:1'],
    ['unknown, when the connection is gone', trusting, undefined, '203.0.113.9', 'unknown'],
  ])('is %s', (_what, read, remote, forwardedFor, address) => {
    expect(read(remote, forwardedFor)).toBe(address);
  });

  it('counts an IPv6 client by its /64 network', () => {
    expect(addressGroup('2001:db8:1:2::1')).toBe(addressGroup('2001:db8:1:2:ffff::9'));
    expect(addressGroup('2001:db8:1:2::1')).not.toBe(addressGroup('2001:db8:1:3::1'));
    expect(addressGroup('203.0.113.9')).toBe('203.0.113.9');
  });
});
