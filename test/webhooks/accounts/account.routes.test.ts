// GET /api/v1/delivery-accounts: whose accounts, of which days.

import { afterAll, describe, expect, it } from 'vitest';
import * as store from '../../../src/webhooks/accounts/account.store.ts';
import { createWebhookRooms } from '../webhook-rooms.ts';

const numbers = { accepted: 9, delivered: 1, waiting: 1, held: 1, failed: 2, canceled: 1, stranded: 2 };

const rooms = await createWebhookRooms();

for (const [n, day] of ['2026-03-01', '2026-03-02', '2026-03-03'].entries())
  await store.save(rooms.database, { day, tookMs: 1 }, [
    { tenantId: rooms.demo.tenant.id, ...numbers, accepted: numbers.accepted + n },
    { tenantId: rooms.acme.tenant.id, ...numbers, accepted: 1_000 },
  ]);
afterAll(() => rooms.close());

const list = async (query = '') => rooms.send('GET', `/api/v1/delivery-accounts${query}`);

describe('the accounts of a tenant', () => {
  it('are its own, the newest first, with what is missing', async () => {
    const { status, body } = await list();
    expect(status).toBe(200);
    expect(body.data.map(({ day, accepted }: { day: string; accepted: number }) => [day, accepted])).toEqual([
      ['2026-03-03', 11],
      ['2026-03-02', 10],
      ['2026-03-01', 9],
    ]);
    expect(body.data[2]).toEqual({
      ...numbers,
      day: '2026-03-01',
      difference: 3,
      counted_at: expect.stringMatching(/^20.*Z$/),
    });
  });

  it.each([
    ['?since=2026-03-02', ['2026-03-03', '2026-03-02']],
    ['?until=2026-03-02', ['2026-03-01']],
    ['?since=2026-03-02&until=2026-03-03', ['2026-03-02']],
    ['?since=2026-04-01', []],
    ['?since=2026-03-03&until=2026-03-01', []],
  ])('%s', async (query, days) => {
    expect((await list(query)).body.data.map(({ day }: { day: string }) => day)).toEqual(days);
  });

  it.each(['?since=yesterday', '?since=2026-02-30', '?until=2026-03-01T00:00:00Z', '?day=2026-03-01'])(
    'refuses %s',
    async (query) => {
      expect((await list(query)).status).toBe(400);
    },
  );
});
