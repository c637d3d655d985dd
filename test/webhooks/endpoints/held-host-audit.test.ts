// A tenant whose subscription comes to a host that is held already: its audit log says so, like those of the tenants
// that were there.
import { afterAll, expect, it } from 'vitest';
import type { RequestContext } from '../../../src/platform/context.ts';
import { createOperatorRooms } from '../../operations/operators/operator-rooms.ts';
import { createWebhookRooms } from '../webhook-rooms.ts';

const rooms = await createWebhookRooms();
const operators = createOperatorRooms(rooms.database);
afterAll(() => rooms.close());

const INTENT = { operator: 'jo', reason: 'its owner asked us to stop' };
const HOST = 'held.example';
const entriesOf = ({ tenant }: RequestContext) => operators.auditOf(tenant.id);
const move = (id: string, url: string) => rooms.subscriptions.update(rooms.demo, id, { url });

it('finds the hold in its audit log, once for each subscription that comes, and nothing when it is over', async () => {
  await operators.hosts.hold(INTENT, HOST, 'released');
  const created = await rooms.subscribe({ url: `https://${HOST}/new` });
  const other = await rooms.subscribe({ url: 'https://free.example/' });
  expect(await entriesOf(rooms.demo)).toEqual([
    {
      action: 'webhook.host.held',
      actor_kind: 'operator',
      actor_id: 'jo',
      target_id: HOST,
      data: {
        reason: INTENT.reason,
        since: expect.stringMatching(/^\d{4}-.*Z$/),
        endpoints: 1,
        subscription_id: created,
      },
    },
  ]);

  // From one host that is held to another: the endpoint does not change, what it is held for does.
  await operators.hosts.hold(INTENT, 'other.example', { until: new Date('2999-01-01T00:00:00Z') });
  await move(other, `https://${HOST}:8443/`);
  await move(other, 'https://other.example/');
  await move(other, 'https://other.example/elsewhere');
  const [, ...moved] = await entriesOf(rooms.demo);
  expect(moved).toMatchObject([
    { target_id: HOST, data: { subscription_id: other } },
    { target_id: 'other.example', data: { subscription_id: other, until: '2999-01-01T00:00:00.000Z' } },
  ]);
  expect(await entriesOf(rooms.acme)).toEqual([]);

  for (const host of [HOST, 'other.example']) await operators.hosts.release(INTENT, host);
  const before = (await entriesOf(rooms.demo)).length;
  await rooms.subscribe({ url: `https://${HOST}/again` });
  expect(await entriesOf(rooms.demo)).toHaveLength(before);
});
