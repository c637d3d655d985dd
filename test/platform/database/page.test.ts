// Cursors: every id survives the way through one, and nothing that was made elsewhere is taken for one.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { newId } from '../../../src/platform/database/ids.ts';
import { createCursors, toPage } from '../../../src/platform/database/page.ts';

const agents = createCursors('/api/v1/agents');
const applications = createCursors('/api/v1/applications');

describe('a cursor', () => {
  it('gives back the id that it was made of', () => {
    for (let n = 0; n < 100; n++) {
      const id = newId();
      expect(agents.decode(agents.encode(id))).toBe(id);
      expect(agents.encode(id)).toMatch(/^[\w-]{24}$/);
    }
  });

  it('of another list is invalid_request', () => {
    expect(() => applications.decode(agents.encode(newId()))).toThrow(
      expect.objectContaining({
        code: 'invalid_request',
        errors: [{ path: 'query.cursor', message: 'is not a cursor that this list gave' }],
      }),
    );
  });

  it.each(['', 'AAAA', '!'.repeat(24), '/'.repeat(24), 'A'.repeat(22), 'A'.repeat(25)])(
    'is not the text "%s", which no list gave',
    (text) => {
      expect(() => agents.decode(text)).toThrow(expect.objectContaining({ code: 'invalid_request' }));
    },
  );

  it('is either one that was made here, or invalid_request', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.base64String({ minLength: 20, maxLength: 28 })), (text) => {
        try {
          expect(agents.encode(agents.decode(text))).toBe(text.replaceAll('+', '-').replaceAll('/', '_'));
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
    expect(nextCursor).toBe(rows[1]?.id);
  });
});
