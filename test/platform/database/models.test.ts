// Every model beside its real table: what a model says of a column is what Postgres says, and no column is left out on
// either side.
import { readdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { SEALED_COLUMNS } from '../../../src/app/wiring/sealed-columns.ts';
import { inSnakeCase } from '../../../src/platform/columns.ts';
import { createModels } from '../../../src/platform/database/model.ts';
import {
  type Column,
  type Columns,
  defineTable,
  given,
  integer,
  nullable,
  primaryKey,
  type Table,
  text,
  texts,
  time,
  uuid,
} from '../../../src/platform/database/table.ts';
import { useTestDatabase } from '../../setup/database.ts';

type Described = { sql: string; isNullable: boolean; isGiven: boolean; isKey: boolean };

// A trigger that fills a column in is no default: `operator_acts.hash`.
const COLUMNS = `
SELECT a.attname AS name, format_type(a.atttypid, a.atttypmod) AS sql, NOT a.attnotnull AS "isNullable", a.atthasdef OR a.attidentity <> '' AS "isGiven",
  coalesce(a.attnum = ANY (k.conkey), false) AS "isKey"
FROM pg_attribute a LEFT JOIN pg_constraint k ON k.conrelid = a.attrelid AND k.contype = 'p'
WHERE a.attrelid = to_regclass($1) AND a.attnum > 0 AND NOT a.attisdropped`;

const test = await useTestDatabase();

/** What Postgres says of a table, by column. */
async function readTable(name: string): Promise<Record<string, Described>> {
  const { rows } = await test.database.query<Described & { name: string }>(COLUMNS, [name]);
  return Object.fromEntries(rows.map(({ name: column, ...described }) => [column, described]));
}

/** What a model says of its table, by the name that Sequelize gives each column. */
function describeModel({ columns }: Table): Record<string, Described> {
  const entries = Object.entries(columns).map(([attribute, column]) => [
    inSnakeCase(attribute),
    toDescribed(column),
  ]);
  return Object.fromEntries(entries);
}

const toDescribed = ({ sql, isNullable, isGiven, isKey }: Column): Described => ({
  sql,
  isNullable,
  isGiven,
  isKey,
});

const isTable = (value: unknown): value is Table =>
  typeof value === 'object' && value !== null && 'columns' in value && 'name' in value;

const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((file) =>
  file.endsWith('.model.ts'),
);
const modules: object[] = await Promise.all(
  files.map((file) => import(/* @vite-ignore */ resolve('src', file))),
);
const tables = modules.flatMap((module) => Object.values(module)).filter(isTable);

describe('a model', () => {
  it.each(tables.map((table) => [table.name, table] as const))(
    '%s is what its table is',
    async (name, table) => {
      expect(describeModel(table)).toEqual(await readTable(name));
    },
  );

  it.each(tables.map((table) => [table.name, table] as const))('%s reads its columns', async (_, table) => {
    const [row = {}] = await test.database.model(table).list({ limit: 1 });
    for (const attribute of Object.keys(row)) expect(table.columns).toHaveProperty(attribute);
  });

  it('is there for each table, once', async () => {
    const { rows } = await test.database.query<{ name: string }>(
      `SELECT relname AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace
         AND relkind IN ('r', 'p') AND NOT relispartition AND relname <> 'schema_migrations' ORDER BY relname`,
    );
    expect(tables.map(({ name }) => name).sort()).toEqual(rows.map(({ name }) => name));
  });

  it('says of each column that a master key seals, that it is sealed, and of no other', () => {
    const said = tables.flatMap(({ name, columns }) =>
      Object.entries(columns).flatMap(([attribute, { isSealed }]) =>
        isSealed ? [`${name}.${inSnakeCase(attribute)}`] : [],
      ),
    );
    expect(said.sort()).toEqual(SEALED_COLUMNS.map(({ table, column }) => `${table}.${column}`).sort());
  });
});

describe('a model that is not what its table is', () => {
  const SAMPLE = {
    id: primaryKey(uuid()),
    name: text(),
    tags: given(texts()),
    count: nullable(integer()),
    createdAt: given(time()),
  };
  beforeAll(() =>
    test.database.query(`CREATE TABLE samples (id uuid PRIMARY KEY, name text NOT NULL, tags text[] NOT NULL DEFAULT '{}',
      count integer, created_at timestamptz(3) NOT NULL DEFAULT now())`),
  );

  const isRefused = async (columns: Columns): Promise<boolean> => {
    const table = await readTable('samples');
    const model = describeModel(defineTable('samples', columns));
    return JSON.stringify(sorted(model)) !== JSON.stringify(sorted(table));
  };
  const sorted = (described: Record<string, Described>) =>
    Object.entries(described)
      .map(([name, { sql, isNullable, isGiven, isKey }]) => [name, sql, isNullable, isGiven, isKey])
      .sort(([one], [other]) => (String(one) < String(other) ? -1 : 1));

  const { count: _count, ...withoutCount } = SAMPLE;
  it.each<[string, boolean, Columns]>([
    ['as it is', false, SAMPLE],
    ['a column less', true, withoutCount],
    ['a column more', true, { ...SAMPLE, owner: text() }],
    ['another type', true, { ...SAMPLE, name: uuid() }],
    ['null where there is none', true, { ...SAMPLE, name: nullable(text()) }],
    ['none where there is null', true, { ...SAMPLE, count: integer() }],
    ['no default', true, { ...SAMPLE, tags: texts() }],
    ['a default that is none', true, { ...SAMPLE, name: given(text()) }],
    ['no key', true, { ...SAMPLE, id: uuid() }],
  ])('is refused: %s', async (_, refused, columns) => {
    expect(await isRefused(columns)).toBe(refused);
  });

  it('is refused when the table changes', async () => {
    await test.database.query('ALTER TABLE samples ALTER name DROP NOT NULL');
    expect(await isRefused(SAMPLE)).toBe(true);
    await test.database.query('ALTER TABLE samples ALTER name SET NOT NULL, ADD owner text');
    expect(await isRefused(SAMPLE)).toBe(true);
    await test.database.query('ALTER TABLE samples DROP owner');
    expect(await isRefused(SAMPLE)).toBe(false);
  });
});

describe('the calls of a model', () => {
  const NOTE = defineTable('notes', {
    id: primaryKey(uuid()),
    ownerName: nullable(text()),
    state: given(text<'open' | 'done'>()),
  });
  const IDS = [1, 2, 3].map((n) => `0000000${n}-0000-7000-8000-000000000000`) as [string, string, string];
  beforeAll(() =>
    test.database.query(
      `CREATE TABLE notes (id uuid PRIMARY KEY, owner_name text UNIQUE, state text NOT NULL DEFAULT 'open')`,
    ),
  );

  it('give plain rows with what the database has filled in, and page them from the newest', async () => {
    const notes = test.database.model(NOTE);
    expect(await notes.insert({ id: IDS[0] })).toEqual({ id: IDS[0], ownerName: null, state: 'open' });
    for (const id of IDS.slice(1)) await notes.insert({ id, ownerName: id });
    const first = await notes.page({}, { limit: 2 });
    expect(first.data.map(({ id }) => id)).toEqual([IDS[2], IDS[1]]);
    const second = await notes.page({}, { limit: 2, cursor: first.nextCursor ?? '' });
    expect(second).toEqual({ data: [{ id: IDS[0], ownerName: null, state: 'open' }], nextCursor: null });
    expect(await notes.update({ id: IDS[0] }, { state: 'done' })).toEqual([
      { id: IDS[0], ownerName: null, state: 'done' },
    ]);
    await notes.remove({ id: IDS[0] });
    expect(await notes.find({ id: IDS[0] })).toBeUndefined();
  });

  it('join the transaction that they are made on, with its locks', async () => {
    await expect(
      test.database.transaction({}, async (transaction) => {
        const notes = transaction.model(NOTE);
        await notes.change(IDS[1], { state: 'done' });
        expect(await notes.lock({ id: IDS[1] }, 'NO KEY UPDATE')).toMatchObject({ state: 'done' });
        const { rows } = await transaction.query('SELECT state FROM notes WHERE id = $1', [IDS[1]]);
        expect(rows).toEqual([{ state: 'done' }]);
        expect(await test.database.model(NOTE).find({ id: IDS[1] })).toMatchObject({ state: 'open' });
        throw new Error('undone');
      }),
    ).rejects.toThrow('undone');
    expect(await test.database.model(NOTE).find({ id: IDS[1] })).toMatchObject({ state: 'open' });
  });

  it('refuse to change a row that is gone, and tell of a violated constraint by its name', async () => {
    const notes = test.database.model(NOTE);
    await expect(notes.change(IDS[0], { state: 'done' })).rejects.toThrow('vanished');
    await expect(notes.insert({ id: IDS[0], ownerName: IDS[1] })).rejects.toMatchObject({
      original: { constraint: 'notes_owner_name_key' },
    });
  });

  it('define each model once for a database', () => {
    const define = createModels(test.database.openSequelize);
    expect(define(NOTE, null)).toBeDefined();
    const known = test.database.openSequelize().model('notes');
    expect(define(NOTE, null)).toBeDefined();
    expect(test.database.openSequelize().model('notes')).toBe(known);
  });
});
