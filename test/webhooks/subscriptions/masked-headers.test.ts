// A masked header follows no URL to another origin: who may change a URL may not read the header.
import { afterAll, expect, it } from 'vitest';
import { createWebhookRooms } from '../webhook-rooms.ts';

const rooms = await createWebhookRooms();
afterAll(() => rooms.close());

const PATH = '/api/v1/webhooks';
const FROM = 'https://receiver.example/hooks';
const SECRETS = { authorization: 'Bearer t', 'x-api-key': 'k' };
const subscribeWithSecrets = () => rooms.subscribe({ url: FROM, headers: { ...SECRETS, 'x-team': 'blue' } });
const headersOf = async (id: string) => {
  const { rows } = await rooms.database.query<{ headers_sealed: Buffer }>(
    'SELECT headers_sealed FROM subscriptions WHERE id = $1',
    [id],
  );
  return rooms.sealing.openHeaders(id, rows[0]?.headers_sealed ?? null);
};

it.each([
  ['scheme', 'http://127.0.0.1:8443/', 'https://127.0.0.1:8443/'],
  ['host', FROM, 'https://other.example/hooks'],
  ['port', FROM, 'https://receiver.example:8443/hooks'],
])('sends no masked header to another %s, and says so', async (_part, from, url) => {
  const id = await rooms.subscribe({ url: from, headers: { ...SECRETS, 'x-team': 'blue' } });
  const { status, body } = await rooms.send('PUT', `${PATH}/${id}`, { url });
  expect([status, body.headers]).toEqual([200, { 'x-team': 'blue' }]);
  expect(await headersOf(id)).toEqual({ 'x-team': 'blue' });
  const { rows } = await rooms.database.query<{ data: { fields: string[] } }>(
    "SELECT data FROM audit_log WHERE target_id = $1 AND action = 'webhook.endpoint.updated'",
    [id],
  );
  expect(rows[0]?.data.fields).toEqual(['url', 'headers']);
});

it('keeps masked headers for another path, and takes those sent with another origin', async () => {
  const id = await subscribeWithSecrets();
  await rooms.send('PUT', `${PATH}/${id}`, { url: 'https://receiver.example:443/other?x=1' });
  expect(await headersOf(id)).toEqual({ ...SECRETS, 'x-team': 'blue' });
  const headers = { 'x-api-key': 'new' };
  await rooms.send('PUT', `${PATH}/${id}`, { url: 'https://other.example/', headers });
  expect(await headersOf(id)).toEqual(headers);
});

it('refuses a mask for another origin', async () => {
  const id = await subscribeWithSecrets();
  const shown = (await rooms.send('GET', `${PATH}/${id}`)).body;
  const answer = await rooms.send('PUT', `${PATH}/${id}`, { ...shown, url: 'https://other.example/' });
  expect(answer.status).toBe(400);
  expect(answer.body).toMatchObject({ errors: [{ path: 'body.headers.authorization' }] });
  expect((await rooms.send('GET', `${PATH}/${id}`)).body).toEqual(shown);
});
