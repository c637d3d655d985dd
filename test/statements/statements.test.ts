// Every statement of the product, prepared on a migrated database: what it declares of its rows and parameters is what
// Postgres says of them.
import { readdirSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import pg from 'pg';
import ts from 'typescript-5';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type * as Forms from '../../src/platform/database/statements.ts';
import { useTestDatabase } from '../setup/database.ts';
import { compare } from './compare.ts';
import { type DeclaredStatement, readDeclared } from './declared.ts';
import { createDescriber, type Described } from './described.ts';

const PLANTED = 'test/statements/planted.ts';

const test = await useTestDatabase();
const client = new pg.Client({ connectionString: test.url });
let declared: ReadonlyMap<string, DeclaredStatement>;
let made: readonly { place: string; text: string }[];
let describeText: (text: string) => Promise<Described>;

beforeAll(async () => {
  const files = [...listSources(), PLANTED];
  declared = new Map(declare(files).map((statement) => [statement.place, statement]));
  // Stores that make their statements by a function of `platform` declare none themselves.
  const stores = files.filter((name) => name.endsWith('.store.ts'));
  const declaring = [...declared.keys()].map((place) => place.split(':')[0] ?? '');
  made = await makeStatements([...new Set([...stores, ...declaring])]);
  await client.connect();
  describeText = await createDescriber(client);
});
afterAll(() => client.end());

const listSources = (): string[] =>
  readdirSync('src', { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join('src', name));

function declare(files: readonly string[]): DeclaredStatement[] {
  const { config } = ts.readConfigFile('tsconfig.json', ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent({ ...config, files: [], include: [] }, ts.sys, '.');
  const program = ts.createProgram({ rootNames: [...files], options: { ...options, noEmit: true } });
  return readDeclared(program, (path) => files.includes(path));
}

/** Loads the files anew, and notes each statement that they make, with its place. */
async function makeStatements(files: readonly string[]): Promise<{ place: string; text: string }[]> {
  const notes: { place: string; text: string }[] = [];
  vi.resetModules();
  vi.doMock('../../src/platform/database/statements.ts', async (importOriginal) => {
    const forms = await importOriginal<typeof Forms>();
    const noted = Object.entries(forms).map(([name, form]) => [
      name,
      (text: string) => {
        notes.push({ place: callerOf(new Error().stack ?? ''), text });
        return (form as (text: string) => unknown)(text);
      },
    ]);
    return Object.fromEntries(noted);
  });
  for (const file of files) await import(/* @vite-ignore */ resolve(file));
  vi.doUnmock('../../src/platform/database/statements.ts');
  vi.resetModules();
  return notes;
}

/** The place of the call: the frame behind ours. */
function callerOf(stack: string): string {
  const [, , frame = ''] = stack.split('\n');
  const [, path = '', line = ''] = /\(?(?:file:\/\/)?(\/[^()]*?):(\d+):\d+\)?$/.exec(frame) ?? [];
  return `${relative(process.cwd(), path)}:${line}`;
}

async function judge({ place, text }: { place: string; text: string }): Promise<string[]> {
  const statement = declared.get(place);
  if (statement === undefined) return [`${place}: is not found in the sources`];
  try {
    return compare(statement, await describeText(text));
  } catch (error) {
    return [`${place}: ${String(error)}`];
  }
}

describe('a statement', () => {
  it('declares the rows that it has, and the parameters that it takes', async () => {
    const faults: string[] = [];
    for (const one of made) if (!one.place.startsWith(PLANTED)) faults.push(...(await judge(one)));
    expect(faults).toEqual([]);
  });

  it('is made as often as it stands in the sources, or more often', () => {
    const places = new Set(made.map(({ place }) => place));
    expect([...declared.keys()].filter((place) => !places.has(place))).toEqual([]);
  });

  it('is found where its declaration is wrong', async () => {
    const planted = made.filter(({ place }) => place.startsWith(PLANTED));
    const faults: string[][] = [];
    for (const one of planted) faults.push((await judge(one)).map((line) => line.replace(/^\S+ /, '')));
    expect(faults).toEqual([
      ['no column is tenantId', 'the row has no member tenant'],
      ['createdAt is string[], and timestamptz in Postgres'],
      ['name is never null'],
      ['description may be null'],
      [],
      ['the row has no member name'],
      ['two columns have one name'],
      ['has 1 values for 2 parameters'],
      ['has 1 values for 2 parameters'],
      ['$1 is number, and uuid in Postgres'],
      ['$3 is number, and text in Postgres'],
      ['id is string, and int4 in Postgres'],
      ['count is string, and int4 in Postgres'],
      ['has 2 columns'],
      ['error: relation "agent" does not exist'],
    ]);
  });
});
