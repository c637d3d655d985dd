// Objects within a row.
import { describe, expect, it } from 'vitest';
import { nestRow } from '../../../src/platform/database/nested-row.ts';

describe('a row', () => {
  it('gets an object for each dot in the name of a column', () => {
    const at = new Date();
    const row = {
      id: 1,
      'use.at': at,
      'use.successor.id': 'a',
      'use.successor.hash': null,
      'key.names': ['b'],
    };
    expect(nestRow(row)).toEqual({
      id: 1,
      use: { at, successor: { id: 'a', hash: null } },
      key: { names: ['b'] },
    });
  });
});
