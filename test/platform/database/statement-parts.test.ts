// Parts of several rooms in one statement: each keeps its own placeholders.
import { describe, expect, it } from 'vitest';
import { composeStatement } from '../../../src/platform/database/statement-parts.ts';
import { useTestDatabase } from '../../setup/database.ts';

const test = await useTestDatabase();

describe('a statement of several parts', () => {
  it('numbers the placeholders of each after those before, whatever their order and number', () => {
    const parts = [
      { text: 'a AS (SELECT $2, $1, $2)' },
      { text: 'b AS (SELECT 1)' },
      { text: 'c AS (SELECT $1, $11)' },
    ];
    expect(composeStatement(parts, 'SELECT 2')).toBe(
      'WITH a AS (SELECT $2, $1, $2), b AS (SELECT 1), c AS (SELECT $3, $13) SELECT 2',
    );
  });

  it('gives each part its own values', async () => {
    const text = composeStatement(
      [
        { text: 'one AS (SELECT $1::int - $2::int AS value)' },
        { text: 'two AS (SELECT $1::text || $2::text AS value)' },
      ],
      'SELECT one.value AS one, two.value AS two FROM one, two',
    );
    const { rows } = await test.database.query(text, [5, 3, 'a', 'b']);
    expect(rows).toEqual([{ one: 2, two: 'ab' }]);
  });
});
