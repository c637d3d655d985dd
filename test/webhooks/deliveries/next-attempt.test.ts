// When the next attempt of a delivery may begin, as far as anybody can say.
import { afterAll, describe, expect, it } from 'vitest';
import { createWebhookRooms } from '../webhook-rooms.ts';

const rooms = await createWebhookRooms();
afterAll(() => rooms.close());

const ALL = '/api/v1/deliveries';
const TRIED = "status = 'retrying', attempt_count = 2, failed_attempts = 2, started_generation = 0";
const ASLEEP = `${TRIED}, next_attempt_at = now() + interval '1 hour'`;

/** A subscription with one delivery whose row is then made to be in the given state. */
async function given(columns: string): Promise<{ id: string; delivery: string }> {
  const id = await rooms.subscribe();
  const [delivery = ''] = await rooms.publish(id);
  await rooms.database.query(`UPDATE deliveries SET ${columns} WHERE subscription_id = $1`, [id]);
  return { id, delivery };
}

describe('the time of the next attempt', () => {
  it.each([
    ['waiting_epoch = 0, next_attempt_at = NULL', '2999-01-01T00:00:00.000Z'],
    ["next_attempt_at = '2998-01-01T00:00:00Z'", '2999-01-01T00:00:00.000Z'],
    ["next_attempt_at = '3000-01-01T00:00:00Z'", '3000-01-01T00:00:00.000Z'],
  ])('of a tried one with %s is not before the hold of its endpoint ends', async (row, shown) => {
    const { id, delivery } = await given(`status = 'retrying', attempt_count = 1, ${row}`);
    const endpoint = (change: string) =>
      rooms.database.query(`UPDATE endpoints SET ${change} WHERE subscription_id = $1`, [id]);
    await endpoint("state = 'held', hold_until = '2999-01-01T00:00:00Z'");
    const read = async () => (await rooms.send('GET', `${ALL}/${delivery}`)).body;
    expect(await read()).toMatchObject({ status: 'retrying', next_attempt_at: shown });
  });

  it.each([
    ["status = 'pending'", 'host_held_until', '2999-01-01T00:00:00Z', 'held', '2999-01-01T00:00:00.000Z'],
    ["status = 'pending'", 'host_held_until', 'infinity', 'held', null],
    ["status = 'pending'", 'tenant_held_until', 'infinity', 'held', null],
    [
      `${TRIED}, waiting_epoch = 0`,
      'host_held_until',
      '2999-01-01T00:00:00Z',
      'retrying',
      '2999-01-01T00:00:00.000Z',
    ],
    [ASLEEP, 'host_held_until', '2999-01-01T00:00:00Z', 'retrying', '2999-01-01T00:00:00.000Z'],
    [ASLEEP, 'host_held_until', 'infinity', 'retrying', null],
    [ASLEEP, 'tenant_held_until', 'infinity', 'retrying', null],
    [ASLEEP, 'host_held_until', '2001-01-01T00:00:00Z', 'retrying', expect.any(String)],
  ])(
    'of one with %s, of which an operator has %s to %s, keeps to that',
    async (row, column, until, status, shown) => {
      const { id, delivery } = await given(row);
      await rooms.database.query(
        `UPDATE endpoints SET ${column} = $2, hold_until = now() + interval '1 hour' WHERE subscription_id = $1`,
        [id, until],
      );
      const { body } = await rooms.send('GET', `${ALL}/${delivery}`);
      expect(body).toMatchObject({ status, next_attempt_at: shown });
    },
  );

  it('is unknown while the subscription is inactive, whatever hold it also has', async () => {
    const { id, delivery } = await given("status = 'pending'");
    await rooms.database.query(
      "UPDATE endpoints SET active = false, hold_until = '2999-01-01T00:00:00Z' WHERE subscription_id = $1",
      [id],
    );
    const { body } = await rooms.send('GET', `${ALL}/${delivery}`);
    expect(body).toMatchObject({ status: 'held', next_attempt_at: null });
  });

  it('of one that a deleted subscription left is over, with the time of the deletion', async () => {
    const { id, delivery } = await given("status = 'retrying'");
    await rooms.database.query('UPDATE endpoints SET deleted = true WHERE subscription_id = $1', [id]);
    const { body } = await rooms.send('GET', `${ALL}/${delivery}`);
    expect(body).toMatchObject({
      status: 'canceled',
      next_attempt_at: null,
      completed_at: expect.any(String),
    });
  });
});
