// What processes tell each other of new events: nothing is lost, and each text fits in a notification.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { MAX_EVENT_TYPE_LENGTH } from '../../../src/events/filter.ts';
import { createEventNews, readNews } from '../../../src/webhooks/intake/event-news.ts';

const LONGEST = 7_900;
const tenant = fc.nat(300).map((n) => `0199a1b3-38f9-7a0b-86c7-${String(n).padStart(12, '0')}`);
const type = fc
  .tuple(fc.nat(80), fc.integer({ min: 1, max: MAX_EVENT_TYPE_LENGTH - 6 }))
  .map(([n, length]) => `a${n}.${'b'.repeat(length)}`);

it('tells each tenant and type, or any type of the tenant, in texts that fit', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(tenant, type), { maxLength: 500 }), (events) => {
      const news = createEventNews();
      for (const [tenantId, name] of events) news.add(tenantId, name);
      const texts = news.take(LONGEST);
      for (const text of texts) expect(Buffer.byteLength(text)).toBeLessThanOrEqual(LONGEST);
      const told = new Map(texts.flatMap(readNews).map(({ tenantId, types }) => [tenantId, types]));
      expect([...told.keys()].sort()).toEqual([...new Set(events.map(([tenantId]) => tenantId))].sort());
      expect(events.every(([tenantId, name]) => (told.get(tenantId) ?? [name]).includes(name))).toBe(true);
      expect(news.take(LONGEST)).toEqual([]);
    }),
    { numRuns: 30 },
  );
});

it('names no types of a tenant that has more than fit', () => {
  const news = createEventNews();
  for (let n = 0; n < 51; n += 1) news.add('many', `a.b${n}`);
  news.add('few', 'a.b');
  expect(news.take(LONGEST).flatMap(readNews)).toEqual([
    { tenantId: 'many', types: undefined },
    { tenantId: 'few', types: ['a.b'] },
  ]);
});
