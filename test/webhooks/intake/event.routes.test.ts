// Publishing over HTTP.
import { afterAll, describe, expect, it } from 'vitest';
import { tokenFor } from '../../platform/http/test-server.ts';
import { createWebhookRooms } from '../webhook-rooms.ts';

const rooms = await createWebhookRooms();
afterAll(() => rooms.close());

const PATH = '/api/v1/events';
const EVENT = { type: 'org.created', data: { id: 1 } };

describe('POST /api/v1/events', () => {
  it('accepts one event and counts its deliveries', async () => {
    await rooms.subscribe();
    const { status, body } = await rooms.send('POST', PATH, { ...EVENT, event_id: 'one' });
    expect([status, body]).toEqual([202, { event_id: 'one', deliveries: 1 }]);
    expect((await rooms.send('POST', PATH, { ...EVENT, event_id: 'one' })).body).toEqual(body);
    const other = await rooms.send('POST', PATH, { ...EVENT, event_id: 'one', data: {} });
    expect([other.status, other.body.error]).toEqual([409, 'event_id_conflict']);
  });

  it('answers an array event by event', async () => {
    const { status, body } = await rooms.send('POST', `/t/acme${PATH}`, [
      EVENT,
      { ...EVENT, type: 'webhook.test' },
      { ...EVENT, event_id: 'two' },
    ]);
    expect(status).toBe(202);
    expect(body.results).toEqual([
      { event_id: expect.any(String), deliveries: 0 },
      {
        status: 400,
        error: 'invalid_request',
        error_description: expect.any(String),
        errors: [{ path: 'body.1.type', message: expect.any(String) }],
      },
      { event_id: 'two', deliveries: 0 },
    ]);
  });

  it('keeps the first answer of an idempotency key', async () => {
    const headers = { 'idempotency-key': 'publish-1' };
    const first = await rooms.send('POST', PATH, EVENT, headers);
    const again = await rooms.send('POST', PATH, EVENT, headers);
    expect(again.body).toEqual(first.body);
    expect(again.headers.get('idempotency-replayed')).toBe('true');
  });

  it.each([
    ['an empty array', [], 400],
    ['more than 500 events', Array.from({ length: 501 }, () => EVENT), 400],
    ['text', '"org.created"', 400],
    ['a type of the service', { ...EVENT, type: 'admin.agent.registered' }, 400],
    ['a body over 256 KiB', { ...EVENT, data: { text: 'x'.repeat(263_000) } }, 413],
  ])('refuses %s', async (_title, body, status) => {
    expect((await rooms.send('POST', PATH, body)).status).toBe(status);
  });

  it('needs the scope events:write', async () => {
    const authorization = `Bearer ${tokenFor('app', 'webhooks:write')}`;
    expect((await rooms.send('POST', PATH, EVENT, { authorization })).status).toBe(403);
  });
});
