// Named statements: one plan a text and connection, bounded in number, and replaced when a migration outdates them.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createStatementNames } from '../../../src/platform/database/statement-names.ts';
import { createTestDatabase } from '../../setup/database.ts';

describe('names of statements', () => {
  it('are the same for the same text, different for different ones, and no more than the limit', () => {
    const names = createStatementNames({ limit: 2 });
    const [first, second] = [names.nameOf('a'), names.nameOf('b')];
    expect(first).not.toBe(second);
    expect([names.nameOf('a'), names.nameOf('b'), names.nameOf('c')]).toEqual([first, second, undefined]);
  });

  it('change for a text whose plan is outdated, and only for it', () => {
    const names = createStatementNames({ limit: 2 });
    const [first, second] = [names.nameOf('a'), names.nameOf('b')];
    names.renew('a');
    names.renew('unknown');
    expect(names.nameOf('a')).not.toBe(first);
    expect(names.nameOf('a')).not.toBe(second);
    expect(names.nameOf('b')).toBe(second);
  });
});

describe('a statement with values', () => {
  let test: Awaited<ReturnType<typeof createTestDatabase>>;
  beforeAll(async () => {
    test = await createTestDatabase();
  });
  afterAll(() => test.drop());

  it('is planned once a connection, in and outside of transactions', async () => {
    const text = 'SELECT $1::int + 1 AS next';
    const prepared = await test.database.transaction({}, async (unit) => {
      for (let n = 0; n < 3; n++) await unit.query(text, [n]);
      return unit.query<{ calls: number }>(
        'SELECT (generic_plans + custom_plans)::int AS calls FROM pg_prepared_statements WHERE statement = $1',
        [text],
      );
    });
    expect(prepared.rows).toEqual([{ calls: 3 }]);
  });

  it('is 503 once, then right again, when a migration changed its columns', async () => {
    const { database } = test;
    await database.query('CREATE TABLE changing (id int)');
    await database.query('INSERT INTO changing VALUES (1)');
    const read = () => database.query('SELECT * FROM changing WHERE id = $1', [1]);
    expect((await read()).rows).toEqual([{ id: 1 }]);
    await database.query('ALTER TABLE changing ADD COLUMN name text');
    await expect(read()).rejects.toMatchObject({ code: 'temporarily_unavailable' });
    expect((await read()).rows).toEqual([{ id: 1, name: null }]);
  });
});
