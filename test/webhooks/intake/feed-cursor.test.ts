// Cursors of the feed: only the tenant that got one can use it, and nobody can read or change it.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createFeedCursors } from '../../../src/webhooks/intake/feed-cursor.node.ts';
import {
  FEED_CURSOR,
  type FeedPosition,
  MAX_CURSOR_LENGTH,
  positionAfterAll,
} from '../../../src/webhooks/intake/feed-cursor.ts';

const TENANT = '0199a1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b';
const OTHER = '0199a1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1c';
const NOTHING = '00000000-0000-0000-0000-000000000000';
const keyOf = (byte: number) => ({ key: new Uint8Array(32).fill(byte) });

const { seal, open } = createFeedCursors({ masterKeys: [keyOf(1)] });

const places = fc
  .uniqueArray(fc.record({ before: fc.integer({ min: 0, max: 100_000 }), id: fc.option(fc.uuid()) }), {
    selector: ({ before }) => before,
    maxLength: 40,
  })
  .map((rows) => rows.toSorted((a, b) => b.before - a.before));

const positions: fc.Arbitrary<FeedPosition> = fc
  .record({
    xid: fc.bigInt({ min: 100_000n, max: 2n ** 63n }),
    id: fc.uuid(),
    at: fc.integer({ min: 0, max: 2 ** 47 }),
    places,
  })
  .map(({ places: rows, ...main }) => ({
    ...main,
    open: rows.map(({ before, id }) => ({ xid: main.xid - BigInt(before), id: id ?? NOTHING })),
  }));

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

describe('a cursor', () => {
  it('is the position that it was sealed of, and the same text each time', () => {
    fc.assert(
      fc.property(positions, (position) => {
        const cursor = seal(TENANT, position);
        expect(cursor).toMatch(FEED_CURSOR);
        expect(cursor.length % 64).toBe(0);
        expect(open(TENANT, cursor)).toEqual(position);
        expect(seal(TENANT, position)).toBe(cursor);
      }),
    );
  });

  it('is refused with any other character in any place, cut, and grown', () => {
    fc.assert(
      fc.property(positions, fc.nat(), fc.nat(62), (position, place, step) => {
        const cursor = seal(TENANT, position);
        const at = place % cursor.length;
        const other = ALPHABET[(ALPHABET.indexOf(cursor.charAt(at)) + 1 + step) % 64];
        expect(open(TENANT, `${cursor.slice(0, at)}${other}${cursor.slice(at + 1)}`)).toBeUndefined();
        for (const text of [
          cursor.slice(0, at),
          cursor.slice(64),
          `${cursor}${'A'.repeat(64)}`,
          `${cursor}A`,
        ])
          expect(open(TENANT, text)).toBeUndefined();
      }),
    );
  });

  it('of one tenant is another text for another one, which cannot use it', () => {
    fc.assert(
      fc.property(positions, (position) => {
        const cursor = seal(TENANT, position);
        expect(open(OTHER, cursor)).toBeUndefined();
        expect(seal(OTHER, position)).not.toBe(cursor);
      }),
    );
  });

  it('shows nothing of the position: cursors of neighbours have no more in common than chance', () => {
    const of = (xid: bigint) => seal(TENANT, { xid, id: NOTHING, open: [], at: 0 });
    const pairs = Array.from({ length: 50 }, (_, n) => [of(BigInt(n)), of(BigInt(n + 1))] as const);
    const same = pairs.map(([a, b]) => [...a].filter((character, at) => character === b[at]).length);
    expect(Math.max(...same)).toBeLessThan(10);
  });

  it('is opened after a change of master keys while the old one is there', () => {
    const position = positionAfterAll({ next: 700n, unfinished: [5n] }, 1_000);
    const both = createFeedCursors({ masterKeys: [keyOf(2), keyOf(1)] });
    expect(both.open(TENANT, seal(TENANT, position))).toEqual(position);
    expect(open(TENANT, both.seal(TENANT, position))).toBeUndefined();
  });

  it('has room for a thousand transactions that have not ended, the oldest of long ago', () => {
    const unfinished = Array.from({ length: 1_000 }, (_, n) => BigInt(n * n));
    const cursor = seal(TENANT, positionAfterAll({ next: 2n ** 40n, unfinished }, Date.UTC(2026, 4, 4)));
    expect(cursor.length).toBeLessThanOrEqual(MAX_CURSOR_LENGTH);
    expect(open(TENANT, cursor)?.open.map(({ xid }) => xid)).toEqual(unfinished);
  });
});
