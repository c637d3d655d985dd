// A connection that is lost between two statements fails the work that holds it, and never the process: an `error`
// event that nobody listens to would be an unhandled error of the test run.
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, describe, expect, it, vi } from 'vitest';
import * as sweepStore from '../../../src/operations/invariants/sweep.store.ts';
import { newClient } from '../../../src/platform/database/client.ts';
import { createDatabase } from '../../../src/platform/database/database.ts';
import { migrate } from '../../../src/platform/database/migrate.ts';
import { createCuttingProxy } from '../../setup/cutting-proxy.ts';
import { useTestDatabase } from '../../setup/database.ts';
import { PATIENCE } from '../../setup/patience.ts';

const { url, database } = await useTestDatabase();
const admin = new pg.Client({ connectionString: url });
await admin.connect();
afterAll(() => admin.end());

/** Ends these backends, and returns when their clients could have read it. */
async function terminate(pids: readonly number[]): Promise<void> {
  expect(pids).toHaveLength(1);
  await admin.query('SELECT pg_terminate_backend(pid) FROM unnest($1::int[]) pid', [pids]);
  await vi.waitFor(async () => {
    const { rowCount } = await admin.query('SELECT 1 FROM pg_stat_activity WHERE pid = ANY($1)', [pids]);
    expect(rowCount).toBe(0);
  }, PATIENCE);
  await sleep(100);
}
/** The backends that hold this advisory lock of the test's database. */
async function holders(lock: number): Promise<number[]> {
  const { rows } = await admin.query<{ pid: number }>(
    `SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND objid = $1 AND granted
     AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
    [lock],
  );
  return rows.map(({ pid }) => pid);
}

describe('a connection that is lost between two statements', () => {
  it('fails a hot transaction as a dependency that is down', async () => {
    const lost = database.transaction({}, async (unit) => {
      const { rows } = await unit.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
      await terminate(rows.map(({ pid }) => pid));
      await unit.query('SELECT 1');
    });
    await expect(lost).rejects.toMatchObject({ code: 'temporarily_unavailable' });
    expect((await database.transaction({}, (unit) => unit.query('SELECT 1 AS one'))).rows).toEqual([
      { one: 1 },
    ]);
    expect(database.pool.totalCount).toBe(database.pool.idleCount);
  });

  it('never serves again, though the work asked nothing more of it', async () => {
    const { rows } = await database.transaction({}, (unit) =>
      unit.query<{ pid: number }>('SELECT pg_backend_pid() AS pid'),
    );
    await expect(
      database.transaction({}, async (unit) => {
        expect((await unit.query('SELECT pg_backend_pid() AS pid')).rows).toEqual(rows);
        await terminate(rows.map(({ pid }) => pid));
      }),
    ).rejects.toMatchObject({ code: 'temporarily_unavailable' });
    expect((await database.query('SELECT pg_backend_pid() AS pid')).rows).not.toEqual(rows);
  });

  it('fails a sweep, and the next one has its lock', async () => {
    const { exclusively } = sweepStore;
    const lost = exclusively(database, async () => terminate(await holders(5_402_117)));
    await expect(lost).rejects.toThrow();
    expect(await exclusively(database, async () => 'swept')).toBe('swept');
  });

  it('fails a migration as a dependency that is down, and the next one ends it', async () => {
    const locking = newClient({ connectionString: url }, () => undefined);
    await locking.connect();
    await locking.query('BEGIN');
    await locking.query('LOCK TABLE schema_migrations');
    const failed = expect(migrate(url)).rejects.toMatchObject({ code: 'temporarily_unavailable' });
    await vi.waitFor(async () => expect(await holders(7_263_511)).toHaveLength(1), PATIENCE);
    await terminate(await holders(7_263_511));
    await failed;
    await locking.end();
    expect(await migrate(url)).toEqual([]);
  });

  it('is an error that the maker of a client receives', async () => {
    const errors: Error[] = [];
    const client = newClient({ connectionString: url }, (error) => errors.push(error));
    await client.connect();
    const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    await terminate(rows.map(({ pid }) => pid));
    await vi.waitFor(() => expect(errors).not.toEqual([]), PATIENCE);
    await client.end();
  });

  it('may be lost in the packet that ends the connecting', async () => {
    const proxy = await createCuttingProxy(url);
    const fresh = createDatabase({ url: proxy.url, pool: 2, applicationName: 'test' });
    proxy.cutAfter(1, 'shutdown');
    const lost = fresh.transaction({}, (unit) => unit.query('SELECT 1'));
    await expect(lost).rejects.toMatchObject({ code: 'temporarily_unavailable' });
    expect((await fresh.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
    await fresh.close();
    await proxy.close();
  });

  it('can be lost in no other place: all clients come from one file', () => {
    const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter(
      (file) => file.endsWith('.ts') && /\bnew pg\.(Client|Pool)\(/.test(readFileSync(`src/${file}`, 'utf8')),
    );
    expect(files).toEqual(['platform/database/client.ts']);
  });
});
