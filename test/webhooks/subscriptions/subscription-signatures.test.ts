// The choice of a subscription's signatures over HTTP.
import { afterAll, describe, expect, it } from 'vitest';
import { createWebhookRooms } from '../webhook-rooms.ts';

const rooms = await createWebhookRooms();
afterAll(() => rooms.close());

const PATH = '/api/v1/webhooks';
const BODY = { url: 'https://hooks.example.com/in', event_types: ['org.created'] };

describe('the signatures of a subscription', () => {
  const change = (id: string, method: string, body: unknown) => rooms.send(method, `${PATH}/${id}`, body);

  it('are shown in one order, and replaced as a whole', async () => {
    const { body } = await rooms.send('POST', PATH, { ...BODY, signatures: ['jwt', 'v1a', 'v1'] });
    expect(body.signatures).toEqual(['v1', 'v1a', 'jwt']);
    expect((await change(body.id, 'PUT', { signatures: ['v1a'] })).body.signatures).toEqual(['v1a']);
    expect((await rooms.send('GET', `${PATH}/${body.id}`)).body.signatures).toEqual(['v1a']);
    expect((await change(body.id, 'PUT', { max_age: 60 })).body.signatures).toEqual(['v1a']);
  });

  it('have no token beside an Authorization that was set before, nor the other way round', async () => {
    const headers = { authorization: 'Bearer t' };
    const own = await rooms.send('POST', PATH, { ...BODY, headers });
    const refused = await change(own.body.id, 'PUT', { signatures: ['jwt'] });
    expect([refused.status, refused.body.errors[0].path]).toEqual([400, 'body.signatures']);
    const token = await rooms.send('POST', PATH, { ...BODY, signatures: ['jwt'] });
    const other = await change(token.body.id, 'PUT', { headers });
    expect([other.status, other.body.errors[0].path]).toEqual([400, 'body.headers.authorization']);
    const both = await change(own.body.id, 'PUT', { signatures: ['jwt'], headers: {} });
    expect([both.status, both.body.headers]).toEqual([200, {}]);
  });
});
