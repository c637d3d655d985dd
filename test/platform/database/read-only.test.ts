// A server that takes no writes: a standby, or a primary that was demoted. A process leaves it without a restart.
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { TENANT } from '../../../src/identity/tenants/tenant.model.ts';
import type { Database } from '../../../src/platform/database/database.ts';
import type { Transaction } from '../../../src/platform/database/transaction.ts';
import { createPatientDatabase, useTestDatabase } from '../../setup/database.ts';

const test = await useTestDatabase();
let database: Database;
let admin: pg.Client;

/** Of new connections, as after a restart of the server as a standby. */
async function takeWrites(takes: boolean): Promise<void> {
  const name = admin.escapeIdentifier(admin.database ?? '');
  await admin.query(
    `ALTER DATABASE ${name} ${takes ? 'RESET default_transaction_read_only' : 'SET default_transaction_read_only = on'}`,
  );
}

beforeEach(async () => {
  admin = new pg.Client({ connectionString: test.url });
  await admin.connect();
  database = createPatientDatabase({ url: test.url, pool: 1, applicationName: 'test' });
});
afterEach(async () => {
  await takeWrites(true);
  await admin.end();
  await database.close();
});

const backend = async () =>
  (await database.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')).rows[0]?.pid;

describe('a server that takes no writes', () => {
  it('gets no connection, so nothing old is read from it, until it takes writes', async () => {
    await takeWrites(false);
    await expect(database.query('SELECT 1')).rejects.toMatchObject({
      code: 'temporarily_unavailable',
      retryAfterSeconds: 1,
    });
    const read = database.transaction({}, (unit) => unit.model(TENANT).list({}));
    await expect(read).rejects.toMatchObject({ code: 'temporarily_unavailable' });
    expect(database.pool.totalCount).toBe(0);
    await takeWrites(true);
    expect((await database.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
  });

  const slug = { slug: 'nobody' };
  const works: readonly (readonly [string, () => Promise<unknown>])[] = [
    ['a statement', () => database.query('DELETE FROM tenants WHERE slug = $1', [slug.slug])],
    [
      'a transaction',
      () => database.transaction({}, (unit) => unit.query('DELETE FROM tenants WHERE false')),
    ],
    ['a call of a model', () => database.model(TENANT).remove(slug)],
    [
      'a call of a model in a transaction',
      () => database.transaction({}, (unit: Transaction) => unit.model(TENANT).remove(slug)),
    ],
  ];

  it.each(works)('loses the connection on which %s has found it out', async (_, work) => {
    await database.query('SET default_transaction_read_only = on');
    const left = await backend();
    await expect(work()).rejects.toMatchObject({ code: 'temporarily_unavailable', retryAfterSeconds: 1 });
    expect(await backend()).not.toBe(left);
    await work();
  });
});
