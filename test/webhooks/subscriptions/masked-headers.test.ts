// A masked header follows no URL elsewhere: who may change a URL may not read the header.
import { afterAll, expect, it } from 'vitest';
import { createWebhookRooms } from '../webhook-rooms.ts';

const rooms = await createWebhookRooms();
afterAll(() => rooms.close());

const PATH = '/api/v1/webhooks';
const FROM = 'https://receiver.example/hooks';
const SECRETS = { authorization: 'Bearer t', 'x-api-key': 'k', 'x-bearer': 'b', 'x-team': 'blue' };
const SHOWN = { 'accept-language': 'de', prefer: 'return=minimal' };
const subscribeWithSecrets = () => rooms.subscribe({ url: FROM, headers: { ...SECRETS, ...SHOWN } });
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
  ['path', FROM, 'https://receiver.example/attacker'],
  ['query', FROM, `${FROM}?to=attacker`],
  ['port', FROM, 'https://receiver.example:8443/hooks'],
])('sends no masked header to another %s, and says so', async (_part, from, url) => {
  const id = await rooms.subscribe({ url: from, headers: { ...SECRETS, ...SHOWN } });
  const { status, body } = await rooms.send('PUT', `${PATH}/${id}`, { url });
  expect([status, body.headers]).toEqual([200, SHOWN]);
  expect(await headersOf(id)).toEqual(SHOWN);
  const { rows } = await rooms.database.query<{ data: { fields: string[] } }>(
    "SELECT data FROM audit_log WHERE target_id = $1 AND action = 'webhook.endpoint.updated'",
    [id],
  );
  expect(rows[0]?.data.fields).toEqual(['url', 'headers']);
});

it('masks all headers but those that carry no credential, and keeps what is sent back', async () => {
  const id = await subscribeWithSecrets();
  const shown = (await rooms.send('GET', `${PATH}/${id}`)).body;
  const masks = Object.fromEntries(Object.keys(SECRETS).map((name) => [name, '***']));
  expect(shown.headers).toEqual({ ...masks, ...SHOWN });
  expect((await rooms.send('PUT', `${PATH}/${id}`, shown)).status).toBe(200);
  expect(await headersOf(id)).toEqual({ ...SECRETS, ...SHOWN });
});

it('keeps masked headers for another spelling of the URL, and takes those sent with another', async () => {
  const id = await subscribeWithSecrets();
  await rooms.send('PUT', `${PATH}/${id}`, { url: 'https://RECEIVER.example:443/hooks' });
  expect(await headersOf(id)).toEqual({ ...SECRETS, ...SHOWN });
  const headers = { 'x-api-key': 'new' };
  await rooms.send('PUT', `${PATH}/${id}`, { url: 'https://other.example/', headers });
  expect(await headersOf(id)).toEqual(headers);
});

it('refuses a mask for another URL', async () => {
  const id = await subscribeWithSecrets();
  const shown = (await rooms.send('GET', `${PATH}/${id}`)).body;
  const answer = await rooms.send('PUT', `${PATH}/${id}`, { ...shown, url: 'https://other.example/' });
  expect(answer.status).toBe(400);
  expect(answer.body).toMatchObject({ errors: [{ path: 'body.headers.authorization' }] });
  expect((await rooms.send('GET', `${PATH}/${id}`)).body).toEqual(shown);
});
