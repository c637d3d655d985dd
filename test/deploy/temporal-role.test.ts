// The role of Temporal, as compose's service temporal-role makes it with psql: anew, again, and over databases of
// before.
import { execFile, spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';

const hasPsql = spawnSync('psql', ['--version']).status === 0;
const admin = new pg.Client({ connectionString: inject('databaseUrl') });

const urlOf = (database: string, role?: readonly [name: string, password: string]) => {
  const url = new URL(inject('databaseUrl'));
  url.pathname = `/${database}`;
  if (role !== undefined) [url.username, url.password] = role;
  return url.href;
};

async function query(url: string, ...statements: string[]): Promise<object[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    let rows: object[] = [];
    for (const statement of statements) ({ rows } = await client.query(statement));
    return rows;
  } finally {
    await client.end();
  }
}

const makeRole = (password: string) =>
  promisify(execFile)(
    'psql',
    ['--no-psqlrc', '--quiet', '--file', resolve('deploy/postgres/temporal-role.sql'), urlOf('countersign')],
    { env: { PATH: process.env.PATH, TEMPORAL_DATABASE_PASSWORD: password } },
  );

beforeAll(() => admin.connect());
afterAll(async () => {
  await admin.query('GRANT CONNECT, TEMPORARY ON DATABASE countersign TO PUBLIC');
  for (const name of ['temporal', 'temporal_visibility'])
    await admin.query(`DROP DATABASE IF EXISTS ${name}`);
  await admin.query('DROP ROLE IF EXISTS temporal');
  await admin.end();
});

it.skipIf(!hasPsql && process.env.CI === undefined)(
  'owns its two databases with all that is in them, and reaches no other',
  async () => {
    await admin.query('CREATE DATABASE temporal');
    await query(
      urlOf('temporal'),
      'CREATE EXTENSION btree_gin',
      'CREATE TABLE executions (id bigserial PRIMARY KEY)',
      "CREATE FUNCTION convert_ts(s text) RETURNS text LANGUAGE sql AS 'SELECT s'",
    );
    await makeRole("it's the first");
    await makeRole('second');
    const own = ['temporal', 'second'] as const;
    await expect(query(urlOf('temporal', ['temporal', "it's the first"]), 'SELECT 1')).rejects.toThrow();
    await query(
      urlOf('temporal', own),
      'ALTER TABLE executions ADD COLUMN more text',
      'INSERT INTO executions DEFAULT VALUES',
      'DROP FUNCTION convert_ts(text)',
      'DROP TABLE executions',
    );
    await query(urlOf('temporal_visibility', own), 'CREATE EXTENSION btree_gin', 'CREATE TABLE a (id int)');
    await expect(query(urlOf('countersign', own), 'SELECT 1')).rejects.toMatchObject({ code: '42501' });
    await admin.query("CREATE ROLE other LOGIN PASSWORD 'other'");
    await expect(query(urlOf('temporal', ['other', 'other']), 'SELECT 1')).rejects.toMatchObject({
      code: '42501',
    });
    await admin.query('DROP ROLE other');
    const { rows } = await admin.query(
      "SELECT rolsuper, rolcreatedb, rolcreaterole FROM pg_roles WHERE rolname = 'temporal'",
    );
    expect(rows).toEqual([{ rolsuper: false, rolcreatedb: false, rolcreaterole: false }]);
  },
);
