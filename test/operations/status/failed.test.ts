// Which deliveries failed for good, counted by endpoint and answer.
import { afterAll, expect, it } from 'vitest';
import * as store from '../../../src/operations/status/status.store.ts';
import { placeOf } from '../../../src/operations/status/status.ts';
import { createWebhookRooms } from '../../webhooks/webhook-rooms.ts';

const rooms = await createWebhookRooms();
afterAll(() => rooms.close());

it('counts what failed for good in 24 hours by endpoint and answer, the most first', async () => {
  const before = await store.countFailed(rooms.database, 5);
  expect(before).toEqual({ total: 0, groups: [] });
  await rooms.subscribe();
  for (const n of [1, 2, 3, 4, 5])
    await rooms.send('POST', '/api/v1/events', { type: 'orders.placed', data: { n } });
  await rooms.database.query(`
    UPDATE deliveries d SET status = 'failed', attempt_count = 1, last_status_code = CASE WHEN n < 4 THEN 422 ELSE 400 END,
      last_error = CASE WHEN n < 4 THEN 'http:422' ELSE 'http:400' END,
      completed_at = CASE WHEN n = 5 THEN now() - interval '25 hours' ELSE now() END
    FROM (SELECT id, row_number() OVER (ORDER BY id) AS n FROM deliveries) AS each WHERE each.id = d.id`);
  const { total, groups } = await store.countFailed(rooms.database, 5);
  expect([total, groups.map(({ answer, count }) => [answer, count])]).toEqual([
    4,
    [
      ['http:422', 3],
      ['http:400', 1],
    ],
  ]);
  expect((await store.countFailed(rooms.database, 1)).total).toBe(4);
});

it('names an endpoint without what may be secret', () => {
  expect(placeOf('https://user:pass@a.example:8443/refuse?key=secret')).toBe('a.example:8443/refuse');
});
