// The operator's commands over the database of a whole interface: one delivery of any tenant, the list of tenants.
import { afterAll, describe, expect, it } from 'vitest';
import { startService } from './service.ts';

const service = await startService();
const env = {
  DATABASE_URL: service.url,
  PUBLIC_URL: new URL(service.env.COUNTERSIGN_URL).origin,
  MASTER_KEY: Buffer.alloc(32, 1).toString('base64'),
  NODE_ENV: 'test',
};
const post = (path: string, body: unknown) => service.owner.send('POST', path, body);
await post('/api/v1/webhooks', {
  url: 'http://127.0.0.1:9099/',
  event_types: ['shop.sold'],
  active: false,
});
await post('/api/v1/events', { type: 'shop.sold', data: { n: 1 } });
const {
  data: [delivery],
} = (await service.owner.send('GET', '/api/v1/deliveries')).body;
afterAll(() => service.close());

const run = (...args: string[]) => service.run(args, { env });
const WHY = ['--reason', 'the receiver asked for it', '--as', 'jo@ops'];

const auditOf = async (action: string) =>
  (await service.owner.send('GET', `/api/v1/audit-logs?action=${action}`)).body.data;

describe('operator delivery', () => {
  it('shows a delivery of any tenant', async () => {
    const { lines } = await run('operator', 'delivery', 'show', delivery.id, '--json');
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({
      tenant_id: service.owner.credentials.tenant_id,
      id: delivery.id,
      status: 'held',
      attempts: [],
      payload: { data: { n: 1 } },
    });
    const people = await run('operator', 'delivery', 'show', delivery.id);
    expect(people.lines.join('\n')).toMatch(/^status +held$/m);
  });

  it('cancels it on record: one act, one entry in the audit log of its tenant', async () => {
    const { lines } = await run('operator', 'delivery', 'cancel', delivery.id, ...WHY);
    expect(lines[0]).toMatch(/ is canceled\.$/);
    const log = JSON.parse((await run('operator', 'log', '--json')).lines[0] ?? '');
    expect(log.acts[0]).toMatchObject({
      operator: 'jo@ops',
      action: 'webhook.delivery.canceled',
      target: { type: 'delivery', id: delivery.id },
      tenants: 1,
    });
    expect(await auditOf('webhook.delivery.canceled')).toEqual([
      expect.objectContaining({
        actor: { kind: 'operator', id: 'jo@ops' },
        target: { type: 'delivery', id: delivery.id },
        data: expect.objectContaining({ reason: WHY[1], act: log.acts[0].n }),
      }),
    ]);
  });

  it('records nothing when nothing is to do', async () => {
    const { lines } = await run('operator', 'delivery', 'cancel', delivery.id, ...WHY, '--json');
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ changed: false, status: 'canceled' });
    expect(await auditOf('webhook.delivery.canceled')).toHaveLength(1);
  });

  it('replays one that has ended', async () => {
    const { lines } = await run('operator', 'delivery', 'retry', delivery.id, ...WHY, '--json');
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ changed: true, status: 'held' });
    expect(await auditOf('webhook.delivery.replayed')).toHaveLength(1);
  });

  it.each([
    [['show', 'x'], '<id>: must be the id of a delivery'],
    [['show', '01a20678-c02f-726b-81d4-2bc9e5baff6a'], 'There is no delivery with the id'],
    [['retry', '01a20678-c02f-726b-81d4-2bc9e5baff6a', ...WHY], 'There is no delivery with the id'],
  ])('refuses %j', async (args, words) => {
    const { told, code } = await run('operator', 'delivery', ...args);
    expect([code, told.join('\n')]).toEqual([1, expect.stringContaining(words)]);
  });
});

it('lists the tenants', async () => {
  const { lines } = await run('tenant', 'list', '--json');
  expect(JSON.parse(lines[0] ?? '').map(({ slug }: { slug: string }) => slug)).toEqual([
    'owner-of-the-rows',
    'stranger',
  ]);
});

describe('status', () => {
  it('says what needs a person, and ends with 1', async () => {
    const { lines, code } = await service.run(['status', '--json'], {
      env: { ...env, TEMPORAL_ADDRESS: '127.0.0.1:1' },
    });
    expect([JSON.parse(lines[0] ?? ''), code]).toMatchObject([
      {
        well: false,
        temporal: 'unreachable',
        backlog: { rows: expect.any(Number) },
        endpoints: { down: 0, held: 0, failing_hosts: [] },
        failed_in_24_hours: { deliveries: 0, groups: [] },
        troubles: expect.arrayContaining(['No worker lives: deliveries wait.']),
      },
      1,
    ]);
  });

  it('is one screen for people', async () => {
    const { lines } = await service.run(['status'], { env: { ...env, TEMPORAL_ADDRESS: '127.0.0.1:1' } });
    expect(lines.length).toBeLessThan(24);
    expect(lines.join('\n')).toMatch(/^Backlog +\d+ rows; oldest due/m);
  });
});

it('lists the master keys, and how many secrets name each', async () => {
  const { lines, code } = await run('master-key', 'list', '--json');
  expect(JSON.parse(lines[0] ?? '')).toEqual([
    {
      master_key: expect.stringMatching(/^[0-9a-f]{8}$/),
      seals: true,
      missing: false,
      secrets: expect.any(Number),
    },
  ]);
  expect(code).toBe(0);
});
