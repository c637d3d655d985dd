// Holds the default of GATEWAY_NETWORK: one in all places, and none that Docker gives to another project.
import { readFileSync } from 'node:fs';
import { BlockList } from 'node:net';
import { expect, it } from 'vitest';

/**
 * What Docker hands out where nobody names a network: moby, `localScopeDefaultNetworks` and, for the overlay networks
 * of a swarm, `globalScopeDefaultNetworks` of libnetwork/ipamutils. `default-address-pools` of an engine replaces the
 * first.
 */
const POOLS = [
  '172.17.0.0/16',
  '172.18.0.0/16',
  '172.19.0.0/16',
  '172.20.0.0/14',
  '172.24.0.0/14',
  '172.28.0.0/14',
  '192.168.0.0/16',
  '10.0.0.0/8',
];

const found = (file: string, pattern: RegExp) =>
  [...readFileSync(file, 'utf8').matchAll(pattern)].map(([, network = '']) => network);

const [network = ''] = found('.env.example', /^# GATEWAY_NETWORK=(\S+)$/gm);

it('is one network in docker-compose.yml, .env.example and the pages, whose first address is in the lines for nginx', () => {
  expect(network).toMatch(/^\d+\.\d+\.\d+\.0\/24$/);
  expect(found('docker-compose.yml', /GATEWAY_NETWORK:-([^}]*)\}/g)).toEqual([network, network]);
  expect(found('docs/deployment.md', /`GATEWAY_NETWORK`, (\S+) unless set/g)).toEqual([network]);
  const first = network.replace('.0/24', '.1');
  expect(found('docs/fresh-host.md', /^set_real_ip_from (\S+);$/gm)).toEqual([first]);
  expect(found('docs/fresh-host.md', /(\S+) is the first address of\s+`GATEWAY_NETWORK`/g)).toEqual([first]);
});

it('is a private network outside of all that Docker gives by itself, as the one of the deployment driver is', () => {
  const [pools, room] = [new BlockList(), new BlockList()];
  const addTo = (list: BlockList, block: string) => {
    const [address = '', prefix] = block.split('/');
    list.addSubnet(address, Number(prefix));
  };
  for (const pool of POOLS) addTo(pools, pool);
  for (const block of ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16']) addTo(room, block);
  const driver = found('test/deploy/driver/stack.mjs', /^const NETWORK = '(\S+)';$/gm);
  expect(driver).toHaveLength(1);
  expect(driver).not.toContain(network);
  for (const one of [network, ...driver]) {
    const [address = ''] = one.split('/');
    expect([room.check(address), pools.check(address)], one).toEqual([true, false]);
  }
});
