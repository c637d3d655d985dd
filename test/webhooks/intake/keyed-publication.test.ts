// One event with an idempotency key: published by one statement together with its answer, and once for its key.
import { afterAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { KeyScope } from '../../../src/platform/answer-key.ts';
import { lock } from '../../../src/platform/http/idempotency.store.ts';
import { createWebhookRooms } from '../webhook-rooms.ts';

const rooms = await createWebhookRooms();
await rooms.subscribe();
afterAll(() => rooms.close());

const PATH = '/api/v1/events';
const event = (id: number) => ({ type: 'org.created', data: { id } });
const send = (key: string, body: unknown) => rooms.send('POST', PATH, body, { 'idempotency-key': key });

async function countEvents(ids: readonly string[]): Promise<number> {
  const { rows } = await rooms.database.query<{ count: number }>(
    'SELECT count(*)::int AS count FROM published_events WHERE event_id = ANY ($1)',
    [ids],
  );
  return rows[0]?.count ?? 0;
}

const countAll = async () =>
  (await rooms.database.query<{ count: number }>('SELECT count(*)::int AS count FROM published_events'))
    .rows[0]?.count ?? 0;

describe('one event with an idempotency key', () => {
  it('is accepted without a transaction, and its repetition is answered byte for byte', async () => {
    const transaction = vi.spyOn(rooms.database, 'transaction');
    onTestFinished(() => transaction.mockRestore());
    const first = await send('one', event(1));
    expect([first.status, first.body]).toEqual([202, { event_id: expect.any(String), deliveries: 1 }]);
    expect(first.headers.get('idempotency-replayed')).toBeNull();
    expect(transaction).not.toHaveBeenCalled();
    const { rows } = await rooms.database.query('SELECT body FROM idempotency_keys WHERE key = $1', ['one']);
    expect(rows).toEqual([{ body: JSON.stringify(first.body) }]);
    const again = await send('one', event(1));
    expect([again.status, again.body]).toEqual([first.status, first.body]);
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    const other = await send('one', event(2));
    expect([other.status, other.body.error]).toEqual([422, 'idempotency_key_reused']);
    expect(await countEvents([first.body.event_id])).toBe(1);
  });

  it('is one, however many requests come concurrently', async () => {
    const before = await countAll();
    const answers = await Promise.all(Array.from({ length: 60 }, () => send('crowd', event(3))));
    const accepted = answers.filter(({ status }) => status === 202);
    for (const { status, body } of answers)
      if (status !== 202) expect([status, body.error]).toEqual([409, 'idempotency_in_progress']);
    expect(new Set(accepted.map(({ body }) => body.event_id)).size).toBe(1);
    expect(
      accepted.filter(({ headers }) => headers.get('idempotency-replayed') === null).length,
    ).toBeGreaterThan(0);
    expect(await countAll()).toBe(before + 1);
  });

  it('shares its statement with others, whose keys and contents are theirs', async () => {
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, n) => send(`key-${n % 30}`, event(n % 30))),
    );
    const made = answers.filter(({ status }) => status === 202).map(({ body }) => body.event_id);
    expect(new Set(made).size).toBe(30);
    const again = await Promise.all(Array.from({ length: 30 }, (_, n) => send(`key-${n}`, event(n))));
    for (const { status, headers } of again)
      expect([status, headers.get('idempotency-replayed')]).toEqual([202, 'true']);
    expect(new Set(again.map(({ body }) => body.event_id))).toEqual(new Set(made));
  });

  it('waits for nobody, while another request holds the key', async () => {
    await send('another', event(4));
    const { rows } = await rooms.database.query<Omit<KeyScope, 'key'>>(
      'SELECT tenant_id AS "tenantId", principal, route FROM idempotency_keys WHERE key = $1',
      ['another'],
    );
    const [scope] = rows;
    if (scope === undefined) throw new Error('The answer was not stored');
    await rooms.database.transaction({}, async (unit) => {
      expect(await lock(unit, { ...scope, key: 'held' })).toBe(true);
      const refused = await send('held', event(4));
      expect([refused.status, refused.body.error]).toEqual([409, 'idempotency_in_progress']);
    });
    expect((await send('held', event(4))).status).toBe(202);
  });

  it('may use the key anew after 24 hours', async () => {
    const first = await send('old', event(5));
    await rooms.database.query(
      "UPDATE idempotency_keys SET created_at = now() - interval '25 hours' WHERE key = $1",
      ['old'],
    );
    const later = await send('old', event(6));
    expect(later.status).toBe(202);
    expect(later.headers.get('idempotency-replayed')).toBeNull();
    expect(later.body.event_id).not.toBe(first.body.event_id);
    expect((await send('old', event(6))).body).toEqual(later.body);
  });

  it('keeps no refusal: the request may be sent again once it is right', async () => {
    expect((await send('wrong', { type: 'org.created', data: 1 })).status).toBe(400);
    expect((await send('wrong', event(7))).status).toBe(202);
  });

  it('with an event id is compared with the event that has this id', async () => {
    const first = await send('with-id', { ...event(8), event_id: 'given' });
    expect([first.status, first.body]).toEqual([202, { event_id: 'given', deliveries: 1 }]);
    const conflict = await send('other-key', { ...event(9), event_id: 'given' });
    expect([conflict.status, conflict.body.error]).toEqual([409, 'event_id_conflict']);
    const again = await send('with-id', { ...event(8), event_id: 'given' });
    expect([again.body, again.headers.get('idempotency-replayed')]).toEqual([first.body, 'true']);
  });
});
