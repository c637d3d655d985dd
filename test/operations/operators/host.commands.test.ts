// `countersign operator host …`: which words are taken, what is printed, and what stands in whose audit log.
import { describe, expect, it } from 'vitest';
import { parseNetworks } from '../../../src/platform/egress/address-rules.ts';
import { readHost } from '../../../src/webhooks/endpoints/host-hold.ts';
import { readReceiverUrl } from '../../../src/webhooks/subscriptions/subscription.ts';
import { useTestDatabase } from '../../setup/database.ts';
import { createTenantContext, insertSubscription } from '../../webhooks/intake/fixture.ts';
import { createOperatorRooms } from './operator-rooms.ts';

const test = await useTestDatabase();
const rooms = createOperatorRooms(test.database);
const acme = await createTenantContext(test.database);
const globex = await createTenantContext(test.database);
await createTenantContext(test.database);
// All at example.com: two of acme, one of globex, and one that is deleted.
await insertSubscription(test.database, acme, { filters: ['*'] });
await insertSubscription(test.database, acme, { filters: ['*'], active: false });
await insertSubscription(test.database, globex, { filters: ['*'] });
await insertSubscription(test.database, globex, { filters: ['*'], deleted: true });

const WHY = ['--reason', 'it asked us to stop', '--as', 'jo'];
const host = (...args: string[]) => rooms.run('operator', 'host', ...args);
const json = async (...args: string[]) => JSON.parse((await host(...args, '--json'))[0] ?? '');

it.each([
  ['api.acme.com', 'api.acme.com'],
  ['API.Acme.COM', 'api.acme.com'],
  ['api.acme.com:8443', 'api.acme.com:8443'],
  ['bücher.example', 'xn--bcher-kva.example'],
  ['127.1', '127.0.0.1'],
  ['[::1]:8080', '[::1]:8080'],
  ['[::ffff:93.184.216.34]', '93.184.216.34'],
  ['[::FFFF:5db8:d822]:8443', '93.184.216.34:8443'],
  ['api.acme.com:443', 'api.acme.com'],
  ['api.acme.com:80', 'api.acme.com:80'],
  ['https://api.acme.com', undefined],
  ['api.acme.com/path', undefined],
  ['*.acme.com', undefined],
  ['%2a.acme.com', undefined],
  ['＊.acme.com', undefined],
  ['user@acme.com', undefined],
  ['acme.com:99999', undefined],
  ['a b', undefined],
  ['', undefined],
])('%j is the host %j', (text, expected) => {
  expect(readHost(text)).toBe(expected);
});

const ADMITTED = parseNetworks(['127.0.0.0/8', '::1/128']);
it.each([
  'http://127.0.0.1:80/',
  'http://127.0.0.1/',
  'https://127.0.0.1/',
  'https://127.0.0.1:443/',
  'http://127.0.0.1:8080/',
  'http://localhost:80/',
  'http://[::1]:80/',
  'http://[::ffff:127.0.0.1]:80/',
  'https://[::ffff:7f00:1]:8443/',
  'https://[::ffff:93.184.216.34]/',
  'https://api.acme.com:8443/',
])('the host of a subscription to %s is the one that an operator names so', (url) => {
  const named = readHost(url.slice(url.indexOf('//') + 2, -1));
  expect(named).toBe(readReceiverUrl(url, ADMITTED).host);
});

describe('a hold', () => {
  it('is told with its size, is listed, and ends', async () => {
    expect(await host('hold', 'example.com', ...WHY)).toEqual([
      'Nothing is sent to example.com any more: 3 endpoints of 2 tenants.',
    ]);
    const [line] = await host('list');
    expect(line).toMatch(
      /^example\.com {2}since \S+Z {2}until it is released {2}3 endpoints of 2 tenants {2}jo: it asked us to stop$/,
    );
    const began = Date.now();
    const again = await json('hold', 'EXAMPLE.com', '--for', '2h', ...WHY);
    expect(again).toEqual({ host: 'example.com', changed: true, endpoints: 3, tenants: 2 });
    const [held] = await json('list');
    expect(Date.parse(held.until)).toBeGreaterThan(began + 7_190_000);
    expect(Date.parse(held.until)).toBeLessThanOrEqual(Date.now() + 7_200_001);
    expect(await host('release', 'example.com', ...WHY)).toEqual([
      'What has waited for example.com goes out: 3 endpoints of 2 tenants.',
    ]);
    expect(await json('list')).toEqual([]);
    expect(await host('release', 'example.com', ...WHY)).toEqual([
      'example.com was not held; nothing changed.',
    ]);
  });

  it('stands in the audit log of each tenant concerned, and of nobody else', async () => {
    const { acts } = await rooms.acts.list(3);
    expect(acts.map(({ action, tenants }) => [action, tenants])).toEqual([
      ['webhook.host.released', 2],
      ['webhook.host.held', 2],
      ['webhook.host.held', 2],
    ]);
    const [, second] = await rooms.auditOf(acme.tenant.id);
    expect(second).toEqual({
      action: 'webhook.host.held',
      actor_kind: 'operator',
      actor_id: 'jo',
      target_id: 'example.com',
      data: { reason: 'it asked us to stop', act: acts[1]?.n, seconds: 7200, endpoints: 2 },
    });
    expect(await rooms.auditOf(globex.tenant.id)).toHaveLength(3);
    const { rows } = await test.database.query<{ tenants: number }>(
      "SELECT count(DISTINCT tenant_id)::int AS tenants FROM audit_log WHERE action LIKE 'webhook.host.%'",
    );
    expect(rows[0]?.tenants).toBe(2);
  });

  it('of a host that nobody sends to is on record all the same', async () => {
    expect(await json('hold', 'nobody.example', ...WHY)).toMatchObject({ endpoints: 0, tenants: 0 });
    expect((await rooms.acts.list(1)).acts).toMatchObject([
      { action: 'webhook.host.held', target: { type: 'host', id: 'nobody.example' }, tenants: 0 },
    ]);
    await host('release', 'nobody.example', ...WHY);
  });

  it.each<[string, string[], RegExp]>([
    ['of an address with a path', ['hold', 'acme.com/x', ...WHY], /host/],
    ['without a reason', ['hold', 'acme.com'], /--reason/],
    [
      'until a time that is over',
      ['hold', 'acme.com', '--until', '2020-01-01T00:00:00Z', ...WHY],
      /^--until: /,
    ],
    ['until no time', ['hold', 'acme.com', '--until', 'tomorrow', ...WHY], /^--until: must be a time/],
    ['for no duration', ['hold', 'acme.com', '--for', '2 hours', ...WHY], /^--for: must be a duration/],
    [
      'until and for',
      ['hold', 'acme.com', '--for', '1h', '--until', '2999-01-01T00:00:00Z', ...WHY],
      /^--for: cannot stand beside --until$/,
    ],
    ['looked for by a wrong class', ['failing', '--class', 'TLS!'], /^--class: /],
  ])('%s is refused', async (_, args, message) => {
    const before = (await rooms.acts.list(1)).acts[0]?.n;
    await expect(host(...args)).rejects.toThrow(message);
    expect((await rooms.acts.list(1)).acts[0]?.n).toBe(before);
  });
});

it('hosts that fail are told with all their errors and their counts', async () => {
  await test.database.query(
    `UPDATE endpoints SET failures_in_a_row = 4, failing_since = now(),
       last_error = CASE WHEN tenant_id = $1 THEN 'tls:CERT_HAS_EXPIRED' ELSE 'http:500' END WHERE active AND NOT deleted`,
    [acme.tenant.id],
  );
  const errors = [
    { error: 'http:500', endpoints: 1 },
    { error: 'tls:CERT_HAS_EXPIRED', endpoints: 1 },
  ];
  expect(await json('failing')).toMatchObject([
    { host: 'example.com', errors, endpoints: 2, tenants: 2, closed: 0 },
  ]);
  expect((await host('failing'))[0]).toContain(
    'http:500 1, tls:CERT_HAS_EXPIRED 1  2 endpoints of 2 tenants',
  );
  expect(await json('failing', '--class', 'tls')).toHaveLength(1);
  const [line] = await host('failing', '--class', 'tls');
  expect(line).toMatch(/^example\.com {2}tls:CERT_HAS_EXPIRED {2}1 endpoint of 1 tenant {2}since \S+Z$/);
});

it.each(['retry', 'cancel'])('a %s where nothing waits is no act', async (verb) => {
  const before = (await rooms.acts.list(1)).acts[0]?.n;
  expect(await host(verb, 'example.com', ...WHY)).toEqual([
    'Nothing waits for example.com; nothing changed.',
  ]);
  expect((await rooms.acts.list(1)).acts[0]?.n).toBe(before);
});

it('a cancellation is told with its size, of one tenant or of all, and is on record', async () => {
  await test.database.query(
    `INSERT INTO deliveries (id, tenant_id, subscription_id, event_row, event_id, event_type)
     SELECT uuid_of_time(now() + random() * interval '1 second'), p.tenant_id, p.subscription_id, uuid_of_time(now()), 'e', 'a.b'
     FROM endpoints p WHERE NOT p.deleted`,
  );
  const of = ['--tenant', globex.tenant.slug];
  expect(await host('cancel', 'example.com', ...of, ...WHY)).toEqual([
    '1 delivery to example.com canceled: 1 endpoint of 1 tenant.',
  ]);
  expect(await host('cancel', 'example.com', ...WHY)).toEqual([
    '2 deliveries to example.com canceled: 2 endpoints of 1 tenant.',
  ]);
  expect((await rooms.acts.list(2)).acts.map(({ action, tenants }) => [action, tenants])).toEqual([
    ['webhook.host.canceled', 1],
    ['webhook.host.canceled', 1],
  ]);
  await expect(host('cancel', 'example.com', '--tenant', 'nobody', ...WHY)).rejects.toThrow(/nobody/);
  const { rows } = await test.database.query<{ status: string }>('SELECT DISTINCT status FROM deliveries');
  expect(rows).toEqual([{ status: 'canceled' }]);
});
