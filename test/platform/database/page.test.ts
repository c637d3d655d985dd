// Cursors: every id survives the way through one, and nothing that was made elsewhere is taken for one.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { newId } from '../../../src/platform/database/ids.ts';
import { decodeCursor, encodeCursor, toPage } from '../../../src/platform/database/page.ts';

describe('a cursor', () => {
  it('gives back the id that it was made of', () => {
    for (let n = 0; n < 100; n++) {
      const id = newId();
      expect(decodeCursor(encodeCursor(id))).toBe(id);
      expect(encodeCursor(id)).toMatch(/^[\w-]{22}$/);
    }
    expect(decodeCursor(undefined)).toBeUndefined();
  });

  it('is either one that was made here, or invalid_request', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.base64String({ minLength: 20, maxLength: 24 })), (text) => {
        try {
          expect(encodeCursor(decodeCursor(text) ?? '')).toBe(text.replaceAll('+', '-').replaceAll('/', '_'));
        } catch (error) {
          expect(error).toMatchObject({ code: 'invalid_request', errors: [{ path: 'query.cursor' }] });
        }
      }),
    );
  });
});

describe('a page', () => {
  const rows = [newId(), newId(), newId()].map((id) => ({ id }));

  it('has a next one only if there are more rows than it holds', () => {
    expect(toPage(rows, 3)).toEqual({ data: rows, nextCursor: null });
    expect(toPage([], 3)).toEqual({ data: [], nextCursor: null });
    const { data, nextCursor } = toPage(rows, 2);
    expect(data).toEqual(rows.slice(0, 2));
    expect(decodeCursor(nextCursor ?? undefined)).toBe(rows[1]?.id);
  });
});
