// Holds the address rules to a table of hostile forms.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  alternateFamilies,
  canonicalAddress,
  judgeAddress,
  parseNetworks,
} from '../../../src/platform/egress/address-rules.ts';

const BLOCKED: readonly [address: string, reason: string][] = [
  ['0.0.0.0', 'this_network'],
  ['0.255.255.255', 'this_network'],
  ['10.0.0.1', 'private'],
  ['100.64.0.1', 'shared_address_space'],
  ['100.100.100.200', 'shared_address_space'],
  ['100.127.255.255', 'shared_address_space'],
  ['127.0.0.1', 'loopback'],
  ['127.255.255.254', 'loopback'],
  ['168.63.129.16', 'platform'],
  ['169.254.169.254', 'link_local'],
  ['172.16.0.1', 'private'],
  ['172.31.255.255', 'private'],
  ['192.0.0.192', 'ietf_protocol'],
  ['192.0.2.1', 'documentation'],
  ['192.31.196.1', 'as112'],
  ['192.52.193.1', 'amt'],
  ['192.88.99.1', 'six_to_four'],
  ['192.168.1.1', 'private'],
  ['192.175.48.1', 'as112'],
  ['198.18.0.1', 'benchmarking'],
  ['198.19.255.255', 'benchmarking'],
  ['198.51.100.7', 'documentation'],
  ['203.0.113.9', 'documentation'],
  ['224.0.0.1', 'multicast'],
  ['239.255.255.255', 'multicast'],
  ['240.0.0.1', 'reserved'],
  ['255.255.255.255', 'reserved'],
  ['::', 'unspecified'],
  ['::1', 'loopback'],
  ['0:0:0:0:0:0:0:1', 'loopback'],
  ['::7f00:1', 'ipv4_compatible'],
  ['::127.0.0.1', 'ipv4_compatible'],
  ['::8.8.8.8', 'ipv4_compatible'],
  ['::ffff:127.0.0.1', 'loopback'],
  ['::ffff:7f00:1', 'loopback'],
  ['::ffff:10.0.0.1', 'private'],
  ['::ffff:a9fe:a9fe', 'link_local'],
  ['::ffff:0:127.0.0.1', 'ipv4_translated'],
  ['64:ff9b::127.0.0.1', 'nat64'],
  ['64:ff9b::808:808', 'nat64'],
  ['64:ff9b:1::1', 'nat64'],
  ['100::1', 'discard'],
  ['100:0:0:1::1', 'not_global'],
  ['2001::1', 'ietf_protocol'],
  ['2001:20::1', 'ietf_protocol'],
  ['2001:1ff:ffff::1', 'ietf_protocol'],
  ['2001:db8::1', 'documentation'],
  ['2002:7f00:1::', 'six_to_four'],
  ['2620:4f:8000::1', 'as112'],
  ['3fff::1', 'documentation'],
  ['4000::1', 'not_global'],
  ['5f00::1', 'not_global'],
  ['fc00::1', 'unique_local'],
  ['fd00:ec2::254', 'unique_local'],
  ['fe80::1', 'link_local'],
  ['fe80::1%eth0', 'link_local'],
  ['febf::1', 'link_local'],
  ['fec0::1', 'site_local'],
  ['ff02::1', 'multicast'],
  ['', 'not_an_address'],
  ['localhost', 'not_an_address'],
  ['127.1', 'not_an_address'],
  ['2130706433', 'not_an_address'],
  ['0x7f.0.0.1', 'not_an_address'],
  ['1.2.3.4.5', 'not_an_address'],
  ['8.8.8.8/8', 'not_an_address'],
  ['[::1]', 'not_an_address'],
];

const PUBLIC = [
  '1.1.1.1',
  '8.8.8.8',
  '9.255.255.255',
  '11.0.0.0',
  '100.63.255.255',
  '100.128.0.0',
  '126.255.255.255',
  '128.0.0.1',
  '168.63.129.15',
  '172.15.255.255',
  '172.32.0.1',
  '192.0.1.1',
  '192.169.0.1',
  '198.20.0.1',
  '223.255.255.255',
  '2001:200::1',
  '2001:4860:4860::8888',
  '2003::1',
  '2606:4700:4700::1111',
  '3ffe::1',
  '::ffff:8.8.8.8',
];

describe('judgeAddress', () => {
  it.each(BLOCKED)('refuses %s (%s)', (address, reason) => {
    expect(judgeAddress(address, [])).toMatchObject({ allowed: false, reason });
  });

  it.each(PUBLIC)('allows the public address %s', (address) => {
    expect(judgeAddress(address, [])).toMatchObject({ allowed: true, reason: 'public' });
  });

  it('lets an admitted network pass, and nothing beside it', () => {
    const admitted = parseNetworks(['127.0.0.0/8', '::1/128', 'fd00::/8']);
    expect(judgeAddress('127.0.0.1', admitted)).toMatchObject({ allowed: true, reason: 'admitted' });
    expect(judgeAddress('::1', admitted)).toMatchObject({ allowed: true, reason: 'admitted' });
    expect(judgeAddress('fd12::1', admitted).allowed).toBe(true);
    expect(judgeAddress('fc00::1', admitted).allowed).toBe(false);
    expect(judgeAddress('10.0.0.1', admitted).allowed).toBe(false);
  });

  it('counts an IPv4-mapped address as its IPv4 in the address, the admitted networks and the answer', () => {
    const verdict = judgeAddress('::ffff:127.0.0.1', parseNetworks(['127.0.0.0/8']));
    expect(verdict).toEqual({ allowed: true, reason: 'admitted', address: '127.0.0.1' });
    expect(judgeAddress('127.0.0.1', parseNetworks(['::ffff:127.0.0.0/104'])).allowed).toBe(true);
    expect(judgeAddress('8.8.8.8', parseNetworks(['::/0'])).reason).toBe('public');
  });
});

describe('parseNetworks', () => {
  it.each(['127.0.0.1', 'localhost', '127.0.0.0/33', '::/129', '', '10.0.0.0/'])('refuses %j', (block) => {
    expect(() => parseNetworks([block])).toThrow('not a CIDR block');
  });
});

describe('canonicalAddress', () => {
  it('gives equal addresses the same text', () => {
    expect(canonicalAddress('::FFFF:127.0.0.1')).toBe('127.0.0.1');
    expect(canonicalAddress('2001:DB8:0:0:0:0:0:1')).toBe('2001:db8::1');
    expect(canonicalAddress('example.com')).toBeUndefined();
  });
});

describe('alternateFamilies', () => {
  const alternate = (addresses: readonly string[]) =>
    alternateFamilies(addresses.map((address) => judgeAddress(address, []))).map(({ address }) => address);

  it('begins with the first address, and keeps the order within a family', () => {
    const four = ['192.0.2.1', '192.0.2.2', '192.0.2.3'];
    const six = ['2001:db8::1', '2001:db8::2'];
    expect(alternate([...four, ...six])).toEqual([four[0], six[0], four[1], six[1], four[2]]);
    expect(alternate([six[0] ?? '', ...four])).toEqual([six[0], ...four]);
    expect(alternate(four)).toEqual(four);
    expect(alternate([])).toEqual([]);
  });

  it('loses no address, and has one of each family among the first two', () => {
    const address = fc.oneof(
      fc.ipV4(),
      fc.ipV6().map((text) => canonicalAddress(text) ?? text),
    );
    fc.assert(
      fc.property(fc.array(address), (addresses) => {
        const mixed = alternate(addresses);
        expect([...mixed].sort()).toEqual(addresses.map((text) => canonicalAddress(text) ?? text).sort());
        const families = (list: readonly string[]) => new Set(list.map((text) => text.includes(':'))).size;
        expect(families(mixed.slice(0, 2))).toBe(families(mixed));
      }),
    );
  });
});
