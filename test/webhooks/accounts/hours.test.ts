// The hours of a tenant's deliveries: that each minute one process counts them, and what the tenant sees.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import type { RequestContext } from '../../../src/platform/context.ts';
import { purge, putOff } from '../../../src/webhooks/accounts/hour.store.ts';
import { countHours } from '../../../src/webhooks/accounts/hour-count.service.ts';
import { insertSubscription } from '../intake/fixture.ts';
import { createWebhookRooms } from '../webhook-rooms.ts';
import { accept } from './fixture.ts';

const { signal } = new AbortController();
let context: RequestContext;
let subscription: string;

const rooms = await createWebhookRooms();
afterAll(() => rooms.close());
beforeEach(async () => {
  context = rooms.demo;
  await rooms.database.query('DELETE FROM deliveries');
  await rooms.database.query('DELETE FROM delivery_hours');
  await rooms.database.query('DELETE FROM subscription_filters');
  subscription = await insertSubscription(rooms.database, context, { filters: ['*'] });
});

const setDue = (columns = `due_at = '-infinity'`) =>
  rooms.database.query(`UPDATE delivery_hour_counts SET ${columns}`);
async function count(columns?: string) {
  await setDue(columns);
  return countHours(rooms, signal);
}
const end = (ids: readonly string[], status: string) =>
  rooms.database.query('UPDATE deliveries SET status = $2 WHERE id = ANY ($1)', [ids, status]);

type Row = Record<'delivered' | 'failed' | 'canceled' | 'unfinished', number[]> & {
  subscription_id: string | null;
};
const list = async (query = '') => (await rooms.send('GET', `/api/v1/delivery-hours${query}`)).body;
/** The sums of a row: a case may begin in one hour and end in the next. */
const sumOf = (row: Row | undefined) =>
  (['delivered', 'failed', 'canceled', 'unfinished'] as const).map((name) =>
    row?.[name].reduce((sum, n) => sum + n, 0),
  );

describe('the hours of deliveries', () => {
  it('say what became of each delivery, of all subscriptions and of those that are named', async () => {
    const other = await insertSubscription(rooms.database, context, { filters: ['*'] });
    const ids = await accept(rooms.database, context, 3);
    const mine = await rooms.database.query<{ id: string }>(
      'SELECT id FROM deliveries WHERE subscription_id = $1 ORDER BY id',
      [subscription],
    );
    const [one = '', two = ''] = mine.rows.map(({ id }) => id);
    await end([one], 'delivered');
    await end([two], 'failed');
    expect(ids).toHaveLength(6);
    await count();
    const all = await list();
    expect(all.hours).toHaveLength(24);
    expect(all.hours[23]).toMatch(/:00:00.000Z$/);
    expect(Date.parse(all.hours[23]) - Date.parse(all.hours[0])).toBe(23 * 3_600_000);
    expect(all.data).toHaveLength(1);
    expect(all.data[0].subscription_id).toBeNull();
    expect(sumOf(all.data[0])).toEqual([1, 1, 0, 4]);
    expect(all.counted_at).toMatch(/^20.*Z$/);
    const stranger = randomUUID();
    const named = await list(`?subscription_ids=${other},${subscription},${stranger}`);
    expect(named.data.map((row: Row) => [row.subscription_id, ...sumOf(row)])).toEqual([
      [other, 0, 0, 0, 3],
      [subscription, 1, 1, 0, 1],
      [stranger, 0, 0, 0, 0],
    ]);
  });

  it('are those of the tenant alone', async () => {
    await insertSubscription(rooms.database, rooms.acme, { filters: ['*'] });
    await accept(rooms.database, rooms.acme, 2);
    await count();
    const { rows } = await rooms.database.query<{ id: string }>(
      'SELECT subscription_id AS id FROM delivery_hours',
    );
    expect(rows).toHaveLength(1);
    expect(sumOf((await list()).data[0])).toEqual([0, 0, 0, 0]);
    expect(sumOf((await list(`?subscription_ids=${rows[0]?.id}`)).data[0])).toEqual([0, 0, 0, 0]);
  });

  it('follow a delivery that ends later', async () => {
    const ids = await accept(rooms.database, context, 2);
    await count();
    expect(sumOf((await list()).data[0])).toEqual([0, 0, 0, 2]);
    await end(ids, 'canceled');
    await count();
    expect(sumOf((await list()).data[0])).toEqual([0, 0, 2, 0]);
  });

  it('are counted by one process, when they are due', async () => {
    await setDue();
    const counted = await Promise.all(Array.from({ length: 5 }, () => countHours(rooms, signal)));
    expect(counted.filter((hours) => hours > 0)).toHaveLength(1);
    expect(await countHours(rooms, signal)).toBe(0);
  });

  it('are all counted every 15 minutes, and the last two each time', async () => {
    expect(await count(`due_at = '-infinity', all_counted_at = now() - interval '16 minutes'`)).toBe(24);
    expect(await count()).toBe(2);
    await accept(rooms.database, context, 1);
    await rooms.database.query(
      `UPDATE deliveries SET id = (left(uuid_of_time(now() - interval '5 hours')::text, 13) || right(id::text, 23))::uuid`,
    );
    await count();
    expect(sumOf((await list()).data[0])).toEqual([0, 0, 0, 0]);
    await count(`due_at = '-infinity', all_counted_at = '-infinity'`);
    const { data } = await list();
    expect(data[0].unfinished.indexOf(1)).toBe(18);
  });

  it('wait longer after a count that took long, and no shorter after one that did not', async () => {
    await setDue(`due_at = now() + interval '1 minute'`);
    const isLate = async () =>
      (
        await rooms.database.query<{ late: boolean }>(
          `SELECT due_at > now() + interval '50 minutes' AS late FROM delivery_hour_counts`,
        )
      ).rows[0]?.late;
    await putOff(rooms.database, 20);
    expect(await isLate()).toBe(false);
    await putOff(rooms.database, 3_600_000);
    expect(await isLate()).toBe(true);
    await putOff(rooms.database, 20);
    expect(await isLate()).toBe(true);
  });

  it('are removed after a day', async () => {
    await rooms.database.query(
      `INSERT INTO delivery_hours SELECT $1, gen_random_uuid(), now() - n * interval '1 hour', 1, 1, 1, 1 FROM generate_series(0, 30) AS n`,
      [context.tenant.id],
    );
    expect(await purge(rooms.database, 100)).toBe(6);
    expect(sumOf((await list()).data[0])[0]).toBeLessThanOrEqual(24);
  });

  it.each([
    ['?subscription_ids=all', 400],
    [`?subscription_ids=${Array.from({ length: 201 }, () => randomUUID()).join(',')}`, 400],
    ['?hours=3', 400],
    [`?subscription_ids=${Array.from({ length: 200 }, () => randomUUID()).join(',')}`, 200],
  ])('%.40s is answered %i', async (query, status) => {
    expect((await rooms.send('GET', `/api/v1/delivery-hours${query}`)).status).toBe(status);
  });

  it('have a time only once they were counted', async () => {
    await setDue(`counted_at = '-infinity'`);
    expect((await list()).counted_at).toBeNull();
    await count();
    expect((await list()).counted_at).not.toBeNull();
  });
});
