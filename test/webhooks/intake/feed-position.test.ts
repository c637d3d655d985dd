// Positions of the feed: each committed row is read once, in whatever order transactions end and however pages are cut.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  decodePosition,
  encodePosition,
  FEED_START,
  type FeedPosition,
  positionAfterPage,
  positionAfterRow,
} from '../../../src/webhooks/intake/feed-cursor.ts';

type Row = { readonly xid: bigint; readonly id: string };

/**
 * A database whose transactions begin, write and end by steps. A snapshot sees what had committed. One that fails has
 * lost all that left no row, and gives its numbers to other transactions.
 */
function createModel() {
  const open = new Map<bigint, Row[]>();
  const committed: Row[] = [];
  let next = 100n;
  let ended = 99n;
  let rows = 0;
  return {
    committed,
    begin: () => {
      open.set(next, []);
      next += 1n;
    },
    write: (which: number, count: number) => {
      const xid = [...open.keys()][which % Math.max(1, open.size)];
      if (xid === undefined) return;
      for (let n = 0; n < count; n += 1) {
        rows += 1;
        open.get(xid)?.push({ xid, id: `0199a1b2-7c3d-7e4f-8a5b-${rows.toString(16).padStart(12, '0')}` });
      }
    },
    end: (which: number, commits: boolean) => {
      const xid = [...open.keys()][which % Math.max(1, open.size)];
      if (xid === undefined) return;
      if (commits) committed.push(...(open.get(xid) ?? []));
      open.delete(xid);
      if (xid > ended) ended = xid;
    },
    fail: () => {
      open.clear();
      ended =
        committed
          .map(({ xid }) => xid)
          .toSorted()
          .at(-1) ?? 99n;
      next = ended + 1n;
    },
    see: () => ({ next: ended + 1n, unfinished: [...open.keys()].filter((xid) => xid <= ended) }),
  };
}

const isBefore = (a: Row, b: Row) => (a.xid === b.xid ? a.id < b.id : a.xid < b.xid);

/** The rows that a page after the position has, as `event_feed` selects them. */
const unreadOf = ({ open, ...main }: FeedPosition, rows: readonly Row[]) =>
  rows
    .filter((row) => isBefore(open.find(({ xid }) => xid === row.xid) ?? main, row))
    .sort((a, b) => (isBefore(a, b) ? -1 : 1));

const step = fc.oneof(
  fc.record({ kind: fc.constant('begin' as const) }),
  fc.record({ kind: fc.constant('write' as const), which: fc.nat(9), count: fc.integer({ min: 1, max: 7 }) }),
  fc.record({ kind: fc.constant('end' as const), which: fc.nat(9), commits: fc.boolean() }),
  fc.record({ kind: fc.constant('fail' as const) }),
  fc.record({ kind: fc.constant('read' as const), limit: fc.integer({ min: 1, max: 5 }) }),
);

it('gives each committed row once to a reader who follows the cursors', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
      const model = createModel();
      const read: Row[] = [];
      let cursor: Uint8Array | undefined;
      const readPage = (limit: number): boolean => {
        const position = cursor === undefined ? FEED_START : decodePosition(cursor);
        if (position === undefined) throw new Error(`${cursor} cannot be decoded`);
        const unread = unreadOf(position, model.committed);
        const page = unread.slice(0, limit);
        const last = page.at(-1);
        const hasMore = unread.length > limit;
        read.push(...page);
        const next =
          hasMore && last !== undefined
            ? positionAfterRow(position, last, model.see())
            : positionAfterPage(position, last, model.see(), position.at);
        cursor = encodePosition(next);
        return hasMore;
      };
      for (const one of steps) {
        if (one.kind === 'begin') model.begin();
        else if (one.kind === 'write') model.write(one.which, one.count);
        else if (one.kind === 'end') model.end(one.which, one.commits);
        else if (one.kind === 'fail') model.fail();
        else readPage(one.limit);
      }
      while (readPage(3));
      expect(new Set(read.map(({ id }) => id)).size).toBe(read.length);
      expect(read.toSorted((a, b) => (isBefore(a, b) ? -1 : 1))).toEqual(
        unreadOf(FEED_START, model.committed),
      );
    }),
    { numRuns: 500 },
  );
});

it('stays encoded what it is: a transaction of which some was read, among others', () => {
  const id = '0199a1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b';
  const nothing = '00000000-0000-0000-0000-000000000000';
  const position = {
    xid: 2n ** 40n,
    id,
    open: [
      { xid: 3n, id: nothing },
      { xid: 700n, id },
      { xid: 2n ** 40n, id: nothing },
    ],
    at: Date.UTC(2026, 4, 4),
  };
  expect(decodePosition(encodePosition(position))).toEqual(position);
});
