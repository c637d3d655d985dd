// Test deliveries: of any type of the catalogue, to one subscription alone, marked as tests.
import { afterAll, describe, expect, it } from 'vitest';
import { CATALOGUE } from '../../../src/events/catalogue.ts';
import { createWebhookRooms } from '../webhook-rooms.ts';

const rooms = await createWebhookRooms();
afterAll(() => rooms.close());

const PATH = '/api/v1/webhooks';
const sendTest = (id: string, body?: unknown, headers?: Record<string, string>) =>
  rooms.send('POST', `${PATH}/${id}/test`, body, headers);

/** The deliveries of an event, with what they carry. */
const deliveriesOf = async (eventId: string) => {
  const { rows } = await rooms.database.query<{
    id: string;
    subscription_id: string;
    event_type: string;
    test: boolean;
    body: string;
  }>(
    `SELECT d.id, d.subscription_id, d.event_type, d.test, convert_from(e.body, 'UTF8') AS body
     FROM deliveries d JOIN events e ON e.id = d.event_row WHERE d.event_id = $1`,
    [eventId],
  );
  return rows.map(({ body, ...row }) => ({ ...row, body: JSON.parse(body) }));
};

describe('POST /api/v1/webhooks/{id}/test', () => {
  it('sends webhook.test to this subscription alone, once for an idempotency key', async () => {
    const id = await rooms.subscribe({ event_types: ['org.created'] });
    const headers = { 'idempotency-key': 'test-1' };
    const first = await sendTest(id, undefined, headers);
    expect(first.status).toBe(202);
    expect((await sendTest(id, undefined, headers)).body).toEqual(first.body);
    expect(await deliveriesOf(first.body.event_id)).toEqual([
      {
        id: first.body.delivery_id,
        subscription_id: id,
        event_type: 'webhook.test',
        test: true,
        body: expect.objectContaining({
          type: 'webhook.test',
          data: { subscription_id: id, message: expect.any(String) },
        }),
      },
    ]);
    const other = await sendTest(id, { event_type: 'org.created' }, headers);
    expect([other.status, other.body.error]).toEqual([422, 'idempotency_key_reused']);
  });

  it('sends the example of any type of the catalogue, whatever the filters, and to nobody else', async () => {
    await rooms.subscribe({ event_types: ['*'] });
    const id = await rooms.subscribe({ event_types: ['org.created'] });
    for (const { type, example } of CATALOGUE.filter((entry) => entry.type !== 'webhook.test')) {
      const { status, body } = await sendTest(id, { event_type: type });
      expect([type, status]).toEqual([type, 202]);
      expect(await deliveriesOf(body.event_id)).toEqual([
        {
          id: body.delivery_id,
          subscription_id: id,
          event_type: type,
          test: true,
          body: {
            event_id: body.event_id,
            type,
            occurred_at: expect.any(String),
            tenant_id: rooms.demo.tenant.id,
            data: example,
          },
        },
      ]);
    }
  });

  it.each([
    ['a type that is not in the catalogue', { event_type: 'orders.order.placed' }, 'body.event_type'],
    ['a pattern', { event_type: 'org.*' }, 'body.event_type'],
    ['an empty type', { event_type: '' }, 'body.event_type'],
    ['a number', { event_type: 7 }, 'body.event_type'],
    ['null', { event_type: null }, 'body.event_type'],
    ['a type that is too long', { event_type: 'x'.repeat(200) }, 'body.event_type'],
    ['other fields', { type: 'org.created' }, 'body.type'],
  ])('refuses %s', async (_title, body, path) => {
    const id = await rooms.subscribe();
    const answer = await sendTest(id, body);
    expect([answer.status, answer.body.errors?.[0].path]).toEqual([400, path]);
    const { rows } = await rooms.database.query('SELECT 1 FROM deliveries WHERE subscription_id = $1', [id]);
    expect(rows).toEqual([]);
  });

  it('is refused while the subscription is inactive, of any type, and is unknown to others', async () => {
    const id = await rooms.subscribe({ active: false });
    for (const body of [undefined, {}, { event_type: 'org.created' }]) {
      const answer = await sendTest(id, body);
      expect([answer.status, answer.body.error]).toEqual([409, 'subscription_inactive']);
    }
    expect((await rooms.send('POST', `/t/acme${PATH}/${id}/test`, {})).status).toBe(404);
  });
});
