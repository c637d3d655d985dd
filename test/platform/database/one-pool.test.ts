// One pool for everything: statements by hand, models and transactions, and the bound that keeps transactions from
// taking all of it.
import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createDatabase, type Database } from '../../../src/platform/database/database.ts';
import type { Models } from '../../../src/platform/database/model.ts';
import { defineTable, integer, primaryKey } from '../../../src/platform/database/table.ts';
import { useTestDatabase } from '../../setup/database.ts';
import { PATIENCE } from '../../setup/patience.ts';

const POOL = 4;
const PID = 'SELECT pg_backend_pid() AS pid';

let database: Database;

const test = await useTestDatabase();
await test.database.query(`CREATE VIEW backend AS ${PID}`);

beforeEach(() => {
  database = openPool();
});
afterEach(() => database.close());

const openPool = (limits: { turn?: number } = {}) =>
  createDatabase({ url: test.url, pool: POOL, applicationName: 'one-pool', limits });

/** Opens a transaction that stays open until `end` is called. */
async function open(on = database) {
  let end = () => {};
  const held = new Promise<void>((resolve) => {
    end = resolve;
  });
  let opened = () => {};
  const isOpen = new Promise<void>((resolve) => {
    opened = resolve;
  });
  const done = on.transaction({}, async (transaction) => {
    await transaction.query('SELECT 1');
    opened();
    await held;
  });
  await Promise.race([isOpen, done]);
  return { end, done };
}

/** A row that says which backend was asked. */
const BACKEND = defineTable('backend', { pid: primaryKey(integer()) });

const modelPid = (models: Models = database) => models.model(BACKEND).list({});

describe('the pool', () => {
  it('serves statements, models and transactions with no more connections than it may have', async () => {
    const works = Array.from({ length: 24 }, (_, n) =>
      n % 3 === 0
        ? database.query('SELECT pg_sleep(0.01)')
        : n % 3 === 1
          ? modelPid()
          : database.transaction({}, (transaction) => transaction.query('SELECT pg_sleep(0.01)')),
    );
    await Promise.all(works);
    const { rows } = await database.query<{ count: number }>(
      "SELECT count(*)::int AS count FROM pg_stat_activity WHERE application_name = 'one-pool'",
    );
    expect(rows[0]?.count).toBeLessThanOrEqual(POOL);
    expect(database.poolUse()).toMatchObject({ max: POOL, waiting: { connection: 0, transaction: 0 } });
  });

  it('runs the models of a transaction on its own connection', async () => {
    await database.transaction({}, async (transaction) => {
      const { rows } = await transaction.query<{ pid: number }>(PID);
      expect(await modelPid(transaction)).toEqual(rows);
      expect(await modelPid()).not.toEqual(rows);
    });
  });

  it('replaces a connection that broke under a model', async () => {
    const [before] = await modelPid();
    await expect(
      database.openSequelize().query('SELECT pg_terminate_backend(pg_backend_pid())'),
    ).rejects.toThrow();
    await vi.waitFor(async () => expect((await modelPid())[0]?.pid).not.toBe(before?.pid), PATIENCE);
    expect(database.poolUse().size).toBe(1);
  });
});

describe('transactions', () => {
  it('leave half of the pool to single statements, and begin in the order in which they came', async () => {
    const held = [await open(), await open()];
    const begun: number[] = [];
    const waiting = [1, 2].map((n) =>
      database.transaction({}, async (transaction) => {
        begun.push(n);
        await transaction.query('SELECT 1');
      }),
    );
    expect(database.poolUse().waiting).toEqual({ connection: 0, transaction: 2 });
    await Promise.all([database.query('SELECT 1'), database.query('SELECT 1'), modelPid()]);
    expect(begun).toEqual([]);
    held[0]?.end();
    await Promise.all(waiting);
    expect(begun).toEqual([1, 2]);
    held[1]?.end();
    await held[1]?.done;
  });

  it('are refused when their turn does not come, and served again later', async () => {
    const impatient = openPool({ turn: 100 });
    const held = [await open(impatient), await open(impatient)];
    await expect(impatient.transaction({}, async () => undefined)).rejects.toMatchObject({
      code: 'temporarily_unavailable',
    });
    expect(impatient.poolUse().waiting.transaction).toBe(0);
    for (const { end } of held) end();
    await Promise.all(held.map(({ done }) => done));
    expect(await impatient.transaction({}, async () => 'served')).toBe('served');
    await impatient.close();
  });

  it('that join one take no further turn', async () => {
    const one = await open();
    await database.transaction({}, (transaction) =>
      database.transaction({ transaction }, async (joined) => {
        expect(joined).toBe(transaction);
      }),
    );
    one.end();
    await one.done;
  });

  it('give their turn back when they fail', async () => {
    const work = vi.fn(() => Promise.reject(new Error('no')));
    for (let n = 0; n < POOL; n += 1) await expect(database.transaction({}, work)).rejects.toThrow('no');
    expect(work).toHaveBeenCalledTimes(POOL);
    expect(database.poolUse().waiting.transaction).toBe(0);
  });
});

describe('a connection to Postgres itself', () => {
  it('has its own session and the settings of the pool', async () => {
    expect(await database.findPoolerFault()).toBeUndefined();
  });

  it('has the settings that docs/deployment.md gives to the role behind a pooler', async () => {
    const page = readFileSync('docs/deployment.md', 'utf8');
    const given = [...page.matchAll(/^ALTER ROLE countersign_service SET (\w+) = '?(\w+)'?;$/gm)];
    const had = given.map(async ([, name = '']) => {
      const { rows } = await database.query<{ value: string }>('SELECT current_setting($1) AS value', [name]);
      return [name, rows[0]?.value];
    });
    expect(await Promise.all(had)).toEqual(given.map(([, name, value]) => [name, value]));
    expect(given).toHaveLength(9);
  });
});
