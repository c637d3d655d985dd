// A page of the feed is written from the stored bytes of its events, and reads as if they had been parsed.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { writeHeard, writePage } from '../../../src/webhooks/intake/feed.schemas.ts';

const body = fc.record({
  event_id: fc.string(),
  type: fc.string(),
  data: fc.dictionary(fc.string(), fc.jsonValue()),
});
const date = fc.date({ noInvalidDate: true, min: new Date(0), max: new Date('2100-01-01') });
const page = fc.record({
  data: fc.array(
    fc.record({
      text: body.map((value) => JSON.stringify(value)),
      createdAt: date,
      cursor: fc.uuid().map((id) => () => id),
    }),
  ),
  nextCursor: fc.uuid(),
  hasMore: fc.boolean(),
  readAt: date,
  completeUntil: fc.option(date),
});

it('a page has each delivered body with its time of acceptance', () => {
  fc.assert(
    fc.property(page, (one) => {
      expect(JSON.parse(writePage(one))).toEqual({
        data: one.data.map(({ text, createdAt }) => ({
          ...JSON.parse(text),
          created_at: createdAt.toISOString(),
        })),
        next_cursor: one.nextCursor,
        has_more: one.hasMore,
        read_at: one.readAt.toISOString(),
        complete_until: one.completeUntil?.toISOString() ?? null,
      });
    }),
  );
});

it('a stream has one line of data for each event, whatever is in it', () => {
  fc.assert(
    fc.property(page, (one) => {
      const lines = writeHeard({ kind: 'page', page: one })
        .split('\n')
        .filter((line) => line.startsWith('data: '));
      expect(lines).toHaveLength(one.data.length + (one.completeUntil === null ? 0 : 1));
      one.data.forEach(({ text }, n) => {
        expect(JSON.parse(lines[n]?.slice('data: '.length) ?? '')).toMatchObject(JSON.parse(text));
      });
    }),
  );
});
