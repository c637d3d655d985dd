// Subscriptions over HTTP: the filters of their list, and PATCH, which is the same as PUT.
import { afterAll, describe, expect, it } from 'vitest';
import { createWebhookRooms } from '../webhook-rooms.ts';

const rooms = await createWebhookRooms();
afterAll(() => rooms.close());

const PATH = '/api/v1/webhooks';

describe('the filters of GET /api/v1/webhooks', () => {
  it('pages through all of them, each once, while others come', async () => {
    const ids = new Set<string>();
    for (let n = 0; n < 5; n += 1) ids.add(await rooms.subscribe());
    const seen: string[] = [];
    let cursor: string | null = '';
    do {
      const query: string = cursor === '' ? '' : `&cursor=${cursor}`;
      const { body } = await rooms.send('GET', `${PATH}?limit=2${query}`);
      seen.push(...body.data.map(({ id }: { id: string }) => id));
      cursor = body.next_cursor;
      await rooms.subscribe();
    } while (cursor !== null);
    expect(new Set(seen).size).toBe(seen.length);
    expect([...ids].filter((id) => !seen.includes(id))).toEqual([]);
    expect((await rooms.send('GET', `${PATH}?cursor=nonsense`)).status).toBe(400);
    expect((await rooms.send('GET', `${PATH}?limit=201`)).status).toBe(400);
  });
});

describe('GET /api/v1/webhooks', () => {
  it('lists by URL, by activity and by the type of an event, also through patterns', async () => {
    const tag = 'filters';
    const make = async (name: string, event_types: string[]) =>
      (await rooms.send('POST', PATH, { url: `https://${name}.example.com/${tag}`, event_types })).body.id;
    const exact = await make('exact', ['org.created']);
    const prefix = await make('prefix', ['org.*']);
    const other = await make('other', ['wallet.tx.signed']);
    await rooms.send('PUT', `${PATH}/${prefix}`, { active: false });
    const found = async (query: string): Promise<string[]> => {
      const { status, body } = await rooms.send('GET', `${PATH}?limit=200&${query}`);
      expect(status).toBe(200);
      const mine = body.data.filter(({ url }: { url: string }) => url.endsWith(tag));
      return mine.map(({ id }: { id: string }) => id).sort();
    };
    expect(await found('event_type=org.created')).toEqual([exact, prefix].sort());
    expect(await found('event_type=wallet.tx.signed')).toEqual([other]);
    expect(await found('active=false')).toEqual([prefix]);
    expect(await found('active=true')).toEqual([exact, other].sort());
    expect(await found(`url=${encodeURIComponent(`https://exact.example.com/${tag}`)}`)).toEqual([exact]);
    expect(await found('event_type=org.created&active=true')).toEqual([exact]);
    expect(await found("url=x'%20OR%201=1")).toEqual([]);
    expect((await rooms.send('GET', `${PATH}?active=yes`)).status).toBe(400);
  });

  it.each([
    ['https://CASE.example.com:443/Hook', 'https://case.example.com/Hook'],
    ['https://bücher.example/hook', 'https://xn--bcher-kva.example/hook'],
    ["https://quote.example.com/?q='a'", 'https://quote.example.com/?q=%27a%27'],
    ['https://dots.example.com/a/%2e%2e/b', 'https://dots.example.com/b'],
    ['https://bare.example.com', 'https://bare.example.com/'],
  ])('finds %s by the text that was given, and by the one that is stored', async (given, stored) => {
    const { body } = await rooms.send('POST', PATH, { url: given, event_types: ['org.created'] });
    expect(body.url).toBe(stored);
    for (const asked of [given, stored]) {
      const found = await rooms.send('GET', `${PATH}?url=${encodeURIComponent(asked)}`);
      expect(found.body.data.map(({ id }: { id: string }) => id)).toEqual([body.id]);
    }
  });

  it.each(['no url', 'https://', 'https:\\\\bare.example.com', 'http://10.0.0.1/'])(
    'finds none by %j',
    async (text) => {
      const { status, body } = await rooms.send('GET', `${PATH}?url=${encodeURIComponent(text)}`);
      expect([status, body.data]).toEqual([200, []]);
    },
  );
});

describe('PATCH /api/v1/webhooks/{id}', () => {
  it('is the same as PUT', async () => {
    const id = await rooms.subscribe();
    const { status, body } = await rooms.send('PATCH', `${PATH}/${id}`, { description: 'changed' });
    expect(status).toBe(200);
    expect(body.description).toBe('changed');
    expect((await rooms.send('PUT', `${PATH}/${id}`, {})).body).toEqual(body);
    expect((await rooms.send('PATCH', `${PATH}/${id}`, { unknown: 1 })).status).toBe(400);
  });
});
