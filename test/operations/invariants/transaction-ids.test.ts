// A dump in a new cluster: its rows are of transactions that this one has not begun. The doctor finds it, and
// `restore-check` consumes the ids.
import { afterAll, expect, it } from 'vitest';
import { countAhead, findAhead } from '../../../src/operations/invariants/cluster.store.ts';
import { consumeIds, IDS_AT_ONCE } from '../../../src/operations/restores/restore.store.ts';
import { createWebhookRooms } from '../../webhooks/webhook-rooms.ts';

/** More than other test files use of the cluster while this one runs. */
const GAP = 20_000;

const rooms = await createWebhookRooms();
const webhook = await rooms.subscribe({});
await rooms.publish(webhook, 3);
afterAll(() => rooms.close());

const examine = () => countAhead(rooms.database, 0);

it('finds nothing where the rows were written', async () => {
  expect(await examine()).toMatchObject({ count: 0, named: null });
});

it('finds each table whose rows are ahead, until the ids that are missing are consumed', async () => {
  const ahead = `(pg_current_xact_id()::text::bigint + ${GAP})::text::xid8`;
  await rooms.database.query(`UPDATE events SET xid = ${ahead}`);
  await rooms.database.query('ALTER TABLE audit_head DISABLE TRIGGER USER');
  await rooms.database.query(`UPDATE audit_head SET last_xid = ${ahead}`);
  expect(await examine()).toMatchObject({
    count: 2,
    named: expect.stringMatching(/^audit_head by \d+ transactions, events by \d+ transactions$/),
  });
  const missing = Math.max(...(await findAhead(rooms.database)).map((one) => one.missing));
  expect(missing).toBeGreaterThan(0);
  expect(missing).toBeLessThanOrEqual(GAP + 1);
  for (let done = 0; done < missing; done += IDS_AT_ONCE) await consumeIds(rooms.database);
  expect(await examine()).toMatchObject({ count: 0, named: null });
});
