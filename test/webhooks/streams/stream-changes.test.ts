// What follows from a change of a stream in the rows of others: the audit log, and the deliveries that it held.
import { afterAll, expect, it } from 'vitest';
import { StreamService } from '../../../src/webhooks/streams/stream.service.ts';
import { createOperatorRooms } from '../../operations/operators/operator-rooms.ts';
import { createWebhookRooms } from '../webhook-rooms.ts';
import { PUSH } from './stream-rooms.ts';

const rooms = await createWebhookRooms();
const operators = createOperatorRooms(rooms.database);
const context = rooms.demo;
const streams = new StreamService({
  ...rooms,
  tenants: { isSuspended: async () => false, subscriptionLimit: 1_000 },
  agents: { exists: async () => false },
  eventKeys: { ensureKey: async () => undefined },
  admittedNetworks: [],
});
afterAll(() => rooms.close());

const HOST = 'held.example';
const pushTo = (endpoint_url: string) => ({ delivery: { method: PUSH, endpoint_url } as const });
const create = async (url: string) => (await streams.create(context, pushTo(url))).stream_id;
const move = (id: string, url: string) => streams.update(context, id, pushTo(url), pushTo(url));
const entriesOf = async (action: string, target: string) =>
  (
    await rooms.database.query<{ data: Record<string, unknown> }>(
      'SELECT data FROM audit_log WHERE action = $1 AND target_id = $2 ORDER BY id',
      [action, target],
    )
  ).rows.map(({ data }) => data);
const statusesOf = async (id: string) =>
  (
    await rooms.database.query<{ status: string; deliveries: number; transactions: number }>(
      `SELECT status, count(*)::int AS deliveries, count(DISTINCT xmin::text)::int AS transactions
       FROM deliveries WHERE subscription_id = $1 GROUP BY status ORDER BY status`,
      [id],
    )
  ).rows;

/** Deliveries of one event that wait for a stream. */
const hold = async (id: string, count: number) => {
  const [delivery] = await rooms.publish(await rooms.subscribe());
  await rooms.database.query(
    `INSERT INTO deliveries (id, tenant_id, subscription_id, event_row, event_id, event_type, next_attempt_at)
     SELECT overlay(gen_random_uuid()::text PLACING left(d.id::text, 14) FROM 1)::uuid, d.tenant_id, $2, d.event_row, d.event_id, d.event_type, now()
     FROM deliveries d, generate_series(1, $3) n WHERE d.id = $1`,
    [delivery, id, count],
  );
};

it('a stream that comes to a held host writes the hold into the audit log, as a subscription does', async () => {
  await operators.hosts.hold({ operator: 'jo', reason: 'its owner asked us to stop' }, HOST, 'released');
  const created = await create(`https://${HOST}/new`);
  const moved = await create('https://free.example/');
  expect(await entriesOf('webhook.host.held', HOST)).toMatchObject([{ subscription_id: created }]);
  await move(moved, `https://${HOST}/moved`);
  expect(await entriesOf('webhook.host.held', HOST)).toMatchObject([
    { subscription_id: created, endpoints: 1 },
    { subscription_id: moved, endpoints: 1 },
  ]);
});

it('a disabled stream cancels what it holds in bounded transactions, and says in the audit log how many', async () => {
  const id = await create('https://held-much.example/');
  await streams.setStatus(context, id, { status: 'paused' });
  await hold(id, 5_001);
  await streams.setStatus(context, id, { status: 'disabled' });
  expect(await statusesOf(id)).toEqual([{ status: 'canceled', deliveries: 5_001, transactions: 2 }]);
  expect(await entriesOf('webhook.deliveries.discarded', id)).toEqual([
    { deliveries: 5_000 },
    { deliveries: 1 },
  ]);
});

it('what a stream still held because its disabling was interrupted is not sent once it is enabled', async () => {
  const id = await create('https://interrupted.example/');
  await streams.setStatus(context, id, { status: 'disabled' });
  await hold(id, 3);
  await streams.setStatus(context, id, { status: 'enabled' });
  expect(await statusesOf(id)).toMatchObject([{ status: 'canceled', deliveries: 3 }]);
  await hold(id, 1);
  await streams.setStatus(context, id, { status: 'paused' });
  await streams.setStatus(context, id, { status: 'enabled' });
  expect(await statusesOf(id)).toMatchObject([{ status: 'canceled' }, { status: 'pending', deliveries: 1 }]);
});
