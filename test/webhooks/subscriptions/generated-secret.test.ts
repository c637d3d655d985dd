// A secret that was made here is read by any library of Standard Webhooks: `whsec_`, then 32 bytes in standard base64,
// padded.
import { afterAll, expect, it } from 'vitest';
import { createWebhookRooms } from '../webhook-rooms.ts';

const rooms = await createWebhookRooms();
afterAll(() => rooms.close());

const PREFIX = 'whsec_';
/** So many hold the letters + and /, which base64url has not. */
const COUNT = 40;

/** As those libraries do it: the prefix is taken away, and nothing but standard base64 is taken. */
function decode(secret: string): Uint8Array {
  expect(secret.slice(0, PREFIX.length)).toBe(PREFIX);
  const text = secret.slice(PREFIX.length);
  expect(text).toMatch(/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/);
  const bytes = Buffer.from(text, 'base64');
  expect(bytes.toString('base64')).toBe(text);
  return bytes;
}

it('is 32 bytes, at the creation and at a rotation, and never the same ones', async () => {
  const seen = new Set<string>();
  for (let n = 0; n < COUNT; n += 1) {
    const body = { url: 'https://hooks.example.com/in', event_types: ['org.created'] };
    const created = await rooms.send('POST', '/api/v1/webhooks', body);
    const rotated = await rooms.send('POST', `/api/v1/webhooks/${created.body.id}/secret/rotate`, {});
    for (const secret of [created.body.secret, rotated.body.secret]) {
      expect(decode(secret)).toHaveLength(32);
      seen.add(secret);
    }
  }
  expect(seen.size).toBe(2 * COUNT);
});
