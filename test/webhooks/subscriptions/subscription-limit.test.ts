// How many subscriptions a tenant may have, subscriptions and streams, and however many come together.
import { afterAll, describe, expect, it } from 'vitest';
import { createWebhookRooms } from '../webhook-rooms.ts';

const rooms = await createWebhookRooms();
afterAll(() => rooms.close());

const PATH = '/api/v1/webhooks';
const BODY = { url: 'https://hooks.example.com/in', event_types: ['org.created'] };

describe('the limit of subscriptions', () => {
  const within = async (subscriptionLimit: number, work: () => Promise<void>) => {
    const { tenant } = rooms.acme;
    Object.assign(tenant, { subscriptionLimit });
    await work();
  };
  const create = () => rooms.send('POST', `/t/acme${PATH}`, BODY);

  it('lets one of concurrent creations in where there is room for one, and names itself to the others', () =>
    within(3, async () => {
      const ids = [await rooms.subscribe({}, '/t/acme'), await rooms.subscribe({}, '/t/acme')];
      const answers = await Promise.all(Array.from({ length: 6 }, create));
      expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409, 409, 409]);
      const refused = answers.find(({ status }) => status === 409)?.body;
      expect(refused.error).toBe('conflict');
      expect(refused.error_description).toContain('may have 3 subscriptions');
      expect((await rooms.send('DELETE', `/t/acme${PATH}/${ids[0]}`)).status).toBe(204);
      expect([(await create()).status, (await create()).status]).toEqual([201, 409]);
    }));

  it('counts the streams of clients, and inactive subscriptions', () =>
    within(5, async () => {
      await rooms.database.query(
        "UPDATE subscriptions SET stream_audience = 'app' WHERE tenant_id = $1 AND id = (SELECT min(id::text)::uuid FROM subscriptions WHERE tenant_id = $1 AND deleted_at IS NULL)",
        [rooms.acme.tenant.id],
      );
      await rooms.subscribe({ active: false }, '/t/acme');
      expect([(await create()).status, (await create()).status]).toEqual([201, 409]);
      expect((await rooms.send('POST', PATH, BODY)).status).toBe(201);
    }));
});
