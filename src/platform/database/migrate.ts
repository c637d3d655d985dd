// Brings a database to the newest schema. It is safe to repeat, and several processes may run it concurrently.
import { setTimeout } from 'node:timers/promises';
import type pg from 'pg';
import { QueryTypes, Sequelize } from 'sequelize';
import { Umzug } from 'umzug';
import { ConfigError } from '../config.ts';
import { newClient } from './client.ts';
import { translateDatabaseError } from './errors.ts';
import { takeSteps } from './migration-steps.ts';
import { MIGRATIONS } from './migrations.ts';
import { ensurePartitions } from './partitions.ts';
import type { Queryable } from './transaction.ts';

/** An arbitrary constant: the advisory lock that lets one migration run at a time. */
const LOCK = 7_263_511;

/** The first migration of every database from before the first release. */
const UNRELEASED = '0001-identity';

/**
 * @param url connection string of the database
 * @param log receives each migration's name as it runs
 * @param list the migrations to run: all, unless a test needs an earlier schema
 * @returns the names that were applied now
 * @throws ConfigError for a database from before the first release, which stays unchanged
 */
export async function migrate(
  url: string,
  log: (message: string) => void = () => undefined,
  list = MIGRATIONS,
): Promise<string[]> {
  const guard = newClient({ connectionString: url, connectionTimeoutMillis: 5_000 });
  const sequelize = new Sequelize(url, { dialect: 'postgres', logging: false, pool: { max: 1 } });
  try {
    await guard.connect();
    await takeTurn(guard);
    await refuseUnreleasedDatabase(queryableOf(sequelize));
    await sequelize.query(
      'CREATE TABLE IF NOT EXISTS schema_migrations (name text PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())',
    );
    const done = await createUmzug(sequelize, list, log).up();
    await ensurePartitions(queryableOf(sequelize));
    return done.map(({ name }) => name);
  } catch (error) {
    throw translateDatabaseError(error);
  } finally {
    await Promise.allSettled([guard.end(), sequelize.close()]);
  }
}

/**
 * The names of the migrations that the database lacks.
 * @throws ConfigError for a database from before the first release
 */
export async function pendingMigrations(sequelize: Sequelize, list = MIGRATIONS): Promise<string[]> {
  await refuseUnreleasedDatabase(queryableOf(sequelize));
  const pending = await createUmzug(sequelize, list, () => undefined).pending();
  return pending.map(({ name }) => name);
}

/**
 * Refuses a database from before the first release: its tables have the present names, but other columns. Changes
 * nothing.
 * @throws ConfigError naming DATABASE_URL
 */
export async function refuseUnreleasedDatabase(queryable: Queryable): Promise<void> {
  const names = await readMigrations(queryable);
  if (names.some((name) => name.startsWith(UNRELEASED)))
    throw new ConfigError(
      'DATABASE_URL',
      `a version from before the first release made this database (migration ${UNRELEASED}), and this version cannot upgrade it; ` +
        'nothing was changed: give the service a new, empty database, or, where npm start runs Postgres, move the folder DATA_DIR away',
    );
}

/**
 * The migrations that the database has recorded: names, and `name#n` for steps of an unfinished one. Empty before the
 * first one.
 */
async function readMigrations(queryable: Queryable): Promise<string[]> {
  const { rowCount } = await queryable.query(`SELECT 1 WHERE to_regclass('schema_migrations') IS NOT NULL`);
  if (rowCount === 0) return [];
  const { rows } = await queryable.query<{ name: string }>(
    'SELECT name FROM schema_migrations ORDER BY name',
  );
  return rows.map(({ name }) => name);
}

/**
 * Tries repeatedly instead of waiting: building an index waits for every running statement, also for one that waits for
 * this lock.
 */
async function takeTurn(guard: pg.Client): Promise<void> {
  for (;;) {
    const { rows } = await guard.query<{ held: boolean }>('SELECT pg_try_advisory_lock($1) AS held', [LOCK]);
    if (rows[0]?.held) return;
    await setTimeout(200);
  }
}

function createUmzug(sequelize: Sequelize, list: typeof MIGRATIONS, log: (message: string) => void) {
  return new Umzug({
    migrations: list.map(({ name, steps }) => ({
      name,
      up: async () => {
        log(name);
        await takeSteps(sequelize, name, steps);
      },
    })),
    storage: {
      executed: () => readMigrations(queryableOf(sequelize)),
      logMigration: async ({ name }) => {
        await sequelize.query('INSERT INTO schema_migrations (name) VALUES ($1)', { bind: [name] });
        await sequelize.query('DELETE FROM schema_migrations WHERE starts_with(name, $1)', {
          bind: [`${name}#`],
        });
      },
      unlogMigration: async () => {
        throw new Error('Migrations are never undone: write a new one.');
      },
    },
    logger: undefined,
  });
}

function queryableOf(sequelize: Sequelize): Queryable {
  return {
    query: async <Row extends object>(text: string, values: readonly unknown[] = []) => {
      const rows = await sequelize.query<Row>(text, { bind: [...values], type: QueryTypes.SELECT });
      return { rows, rowCount: rows.length };
    },
  };
}
