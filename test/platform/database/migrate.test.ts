// Migrations beside a version that serves: a large table is not blocked, and an interrupted migration goes on.
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../../src/platform/database/database.ts';
import { newId } from '../../../src/platform/database/ids.ts';
import { migrate, pendingMigrations } from '../../../src/platform/database/migrate.ts';
import { takeSteps } from '../../../src/platform/database/migration-steps.ts';
import { MIGRATIONS } from '../../../src/platform/database/migrations.ts';
import { insertEnded } from '../../authentication/challenges/ended-challenges.ts';
import { createTestDatabase } from '../../setup/database.ts';

const NAME = '9001-later';
const INDEX = 'challenges_later';
const LATER = [...MIGRATIONS, { name: NAME, steps: [{ index: INDEX, on: 'challenges (created_at)' }] }];

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
const migrateLater = () => migrate(url, undefined, LATER);
const readIndex = async () => {
  const { rows } = await database.query<{ valid: boolean; on: string }>(
    'SELECT indisvalid AS valid, pg_get_indexdef(indexrelid) AS on FROM pg_index WHERE indexrelid = to_regclass($1)',
    [INDEX],
  );
  return rows;
};
const AFTERWARDS = [{ valid: true, on: expect.stringMatching(/\(created_at\)$/) }];

describe('a migration', () => {
  it('keeps nobody from challenges while it builds an index, and several together come to an end', async () => {
    const busy = await connect();
    await busy.query('BEGIN');
    // The index waits for an open transaction that has changed the table.
    await busy.query('DELETE FROM challenges WHERE id = $1', [newId()]);
    let ended = 0;
    const migrating = Promise.all(
      [1, 2, 3].map(async () => {
        const names = await migrateLater();
        ended += 1;
        return names;
      }),
    );
    const client = await connect();
    await client.query("SET lock_timeout = '30 s'");
    for (let n = 0; n < 15; n += 1) {
      await client.query('SELECT count(*) FROM challenges');
      await insertEnded({ query: client.query.bind(client) } as never, newId(), { count: 1, seconds: 10 });
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    expect(ended).toBe(0);
    await busy.query('COMMIT');
    expect((await migrating).flat()).toEqual([NAME]);
    expect(await readIndex()).toEqual(AFTERWARDS);
  });

  it('builds an index anew that a crash has left unfinished', async () => {
    await insertEnded(database, newId(), { count: 2, seconds: 10 });
    // Two equal rows make an index that is not valid.
    await expect(
      database.query(`CREATE UNIQUE INDEX CONCURRENTLY ${INDEX} ON challenges (tenant_id)`),
    ).rejects.toThrow('could not create unique index');
    expect(await readIndex()).toEqual([{ valid: false, on: expect.any(String) }]);
    expect(await migrateLater()).toEqual([NAME]);
    expect(await readIndex()).toEqual(AFTERWARDS);
  });

  it('builds the index of a partitioned table by each partition, while others write, and goes on after a crash', async () => {
    const on = 'deliveries (event_id)';
    const migratePartitions = () =>
      migrate(url, undefined, [...MIGRATIONS, { name: NAME, steps: [{ index: INDEX, on }] }]);
    const readIndexes = async () => {
      const { rows } = await database.query<{ partition: string; valid: boolean }>(
        `SELECT i.indrelid::regclass::text AS partition, i.indisvalid AS valid FROM pg_inherits c JOIN pg_index i ON i.indexrelid = c.inhrelid
         WHERE c.inhparent = to_regclass($1) ORDER BY 1`,
        [INDEX],
      );
      return rows;
    };
    const listPartitions = async () => {
      const { rows } = await database.query<{ name: string }>(
        `SELECT inhrelid::regclass::text AS name FROM pg_inherits WHERE inhparent = 'deliveries'::regclass ORDER BY 1`,
      );
      return rows.map(({ name }) => ({ partition: name, valid: true }));
    };
    const [first] = await listPartitions();
    // As a crash leaves it: the table's index, and one partition's without its end.
    await database.query(`CREATE INDEX ${INDEX} ON ONLY ${on}`);
    const one = `${first?.partition}_${INDEX}`;
    await database.query(`CREATE INDEX ${one} ON ${first?.partition} (event_id)`);
    await database.query('UPDATE pg_index SET indisvalid = false WHERE indexrelid = $1::regclass', [one]);
    const busy = await connect();
    await busy.query('BEGIN');
    await busy.query("UPDATE deliveries SET event_type = event_type WHERE event_id = 'none'");
    let ended = false;
    const migrating = migratePartitions().then((names) => {
      ended = true;
      return names;
    });
    const client = await connect();
    await client.query("SET lock_timeout = '30 s'");
    for (let n = 0; n < 15; n += 1) {
      await client.query("UPDATE deliveries SET event_type = event_type WHERE event_id = 'none'");
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    expect(ended).toBe(false);
    await busy.query('COMMIT');
    expect(await migrating).toEqual([NAME]);
    expect(await readIndexes()).toEqual(await listPartitions());
    expect(await readIndex()).toEqual([{ valid: true, on: expect.stringMatching(/\(event_id\)$/) }]);
    // A day that begins later has it too.
    await database.query("SELECT ensure_day_partition('deliveries', (now() AT TIME ZONE 'UTC')::date + 20)");
    expect(await readIndexes()).toEqual(await listPartitions());
  });

  it('goes on after the last transaction that was committed, and leaves no marks behind', async () => {
    const steps = ['CREATE TABLE one (n int)', 'INSERT INTO one VALUES (1)', 'SELECT 1 / 0'];
    const failing = [...MIGRATIONS, { name: NAME, steps }];
    for (let tries = 0; tries < 2; tries += 1)
      await expect(migrate(url, undefined, failing)).rejects.toThrow('division by zero');
    expect((await database.query('SELECT n FROM one')).rows).toEqual([{ n: 1 }]);
    expect(await pendingMigrations(database, failing)).toEqual([NAME]);
    const mended = [...MIGRATIONS, { name: NAME, steps: [...steps.slice(0, 2), 'SELECT 1'] }];
    expect(await migrate(url, undefined, mended)).toEqual([NAME]);
    expect(await pendingMigrations(database, mended)).toEqual([]);
    expect((await database.query("SELECT 1 FROM schema_migrations WHERE name LIKE '%#%'")).rowCount).toBe(0);
    expect((await database.query('SELECT n FROM one')).rows).toEqual([{ n: 1 }]);
  });

  it('that waits for a lock lets others pass meanwhile', async () => {
    const busy = await connect();
    await busy.query('BEGIN');
    await busy.query('SELECT 1 FROM challenges');
    const altering = takeSteps(await connect(), 'altering', ['ALTER TABLE challenges ADD COLUMN more text']);
    const client = await connect();
    await client.query("SET lock_timeout = '30 s'");
    for (let n = 0; n < 8; n += 1) {
      await client.query('SELECT count(*) FROM challenges');
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    await busy.query('COMMIT');
    await altering;
    await client.query('SELECT more FROM challenges');
  });
});
