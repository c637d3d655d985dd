// Migrations beside a version that serves: nobody waits for a large table, and a crash in the midst of one is made good.
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../../src/platform/database/database.ts';
import { newId } from '../../../src/platform/database/ids.ts';
import { migrate, pendingMigrations } from '../../../src/platform/database/migrate.ts';
import { takeSteps } from '../../../src/platform/database/migration-steps.ts';
import { insertEnded } from '../../authentication/challenges/ended-challenges.ts';
import { createTestDatabase } from '../../setup/database.ts';

const NAME = '0019-challenge-expiry';

let database: Database;
let url: string;
let drop: () => Promise<void>;
const clients: pg.Client[] = [];

beforeEach(async () => {
  ({ database, url, drop } = await createTestDatabase());
});
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.end()));
  await drop();
});

const connect = async () => {
  const client = new pg.Client({ connectionString: url });
  clients.push(client);
  await client.connect();
  return client;
};
/** The challenges as they were before the migration. */
const goBack = async () => {
  await database.query('DROP TABLE challenge_sweep, challenge_expiry_counts');
  await database.query('DROP INDEX challenges_by_end');
  await database.query(
    'CREATE INDEX challenges_open ON challenges (expires_at) WHERE consumed_at IS NULL AND expired_at IS NULL',
  );
  await database.query('CREATE INDEX challenges_by_age ON challenges (created_at)');
  await database.query('DELETE FROM schema_migrations WHERE name = $1', [NAME]);
};
const indexes = async () => {
  const { rows } = await database.query<{ name: string; valid: boolean; on: string }>(
    `SELECT indexrelid::regclass::text AS name, indisvalid AS valid, pg_get_indexdef(indexrelid) AS on
     FROM pg_index WHERE indrelid = 'challenges'::regclass ORDER BY 1`,
  );
  return rows;
};
const AFTERWARDS = [
  { name: 'challenges_by_end', valid: true, on: expect.stringMatching(/\(expires_at\)$/) },
  { name: 'challenges_pkey', valid: true, on: expect.any(String) },
];

describe('a migration', () => {
  it('keeps nobody from challenges while it builds an index, and several at once come to an end', async () => {
    await goBack();
    const busy = await connect();
    await busy.query('BEGIN');
    // Whoever changes the table in an open transaction is waited for.
    await busy.query('DELETE FROM challenges WHERE id = $1', [newId()]);
    let ended = 0;
    const migrating = Promise.all(
      [1, 2, 3].map(async () => {
        const names = await migrate(url);
        ended += 1;
        return names;
      }),
    );
    const client = await connect();
    await client.query("SET lock_timeout = '500 ms'");
    for (let n = 0; n < 15; n += 1) {
      await client.query('SELECT count(*) FROM challenges');
      await insertEnded({ query: client.query.bind(client) } as never, newId(), { count: 1, seconds: 10 });
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    expect(ended).toBe(0);
    await busy.query('COMMIT');
    expect((await migrating).flat()).toEqual([NAME]);
    expect(await indexes()).toEqual(AFTERWARDS);
  });

  it('builds an index anew that a crash has left unfinished', async () => {
    await goBack();
    await insertEnded(database, newId(), { count: 2, seconds: 10 });
    // The way to an index that is not valid: two rows that are alike.
    await expect(
      database.query('CREATE UNIQUE INDEX CONCURRENTLY challenges_by_end ON challenges (tenant_id)'),
    ).rejects.toThrow('could not create unique index');
    expect(await indexes()).toContainEqual({
      name: 'challenges_by_end',
      valid: false,
      on: expect.any(String),
    });
    expect(await migrate(url)).toEqual([NAME]);
    expect(await indexes()).toEqual(AFTERWARDS);
  });

  it('goes on after the last transaction that was committed, and leaves no marks behind', async () => {
    await goBack();
    const steps = ['CREATE TABLE one (n int)', 'INSERT INTO one VALUES (1)', 'SELECT 1 / 0'];
    await expect(takeSteps(database.sequelize, NAME, steps)).rejects.toThrow('division by zero');
    await expect(takeSteps(database.sequelize, NAME, steps)).rejects.toThrow('division by zero');
    expect((await database.query('SELECT n FROM one')).rows).toEqual([{ n: 1 }]);
    expect(await pendingMigrations(database.sequelize)).toEqual([NAME]);
    await takeSteps(database.sequelize, NAME, [...steps.slice(0, 2), 'SELECT 1']);
    await database.query(`DELETE FROM schema_migrations WHERE name LIKE '%#%'`);
    expect(await migrate(url)).toEqual([NAME]);
    expect((await database.query("SELECT 1 FROM schema_migrations WHERE name LIKE '%#%'")).rowCount).toBe(0);
    expect(await indexes()).toEqual(AFTERWARDS);
  });

  it('that waits for a lock lets others pass meanwhile', async () => {
    const busy = await connect();
    await busy.query('BEGIN');
    await busy.query('SELECT 1 FROM challenges');
    const altering = takeSteps(database.sequelize, 'altering', [
      'ALTER TABLE challenges ADD COLUMN more text',
    ]);
    const client = await connect();
    await client.query("SET lock_timeout = '2 s'");
    for (let n = 0; n < 8; n += 1) {
      await client.query('SELECT count(*) FROM challenges');
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    await busy.query('COMMIT');
    await altering;
    await client.query('SELECT more FROM challenges');
  });
});
