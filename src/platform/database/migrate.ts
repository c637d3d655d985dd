// Migrates a database to the newest schema. It can be repeated and run by several processes concurrently.
import { setTimeout } from 'node:timers/promises';
import type pg from 'pg';
import { ConfigError } from '../config.ts';
import { newClient } from './client.ts';
import { translateDatabaseError } from './errors.ts';
import { sendForMembers } from './member-query.ts';
import { takeSteps } from './migration-steps.ts';
import { MIGRATIONS } from './migrations.ts';
import { ensurePartitions } from './partitions.ts';
import { changed, many, one } from './statements.ts';
import type { Queryable } from './transaction.ts';

/** An arbitrary constant: the key of the advisory lock, so that one migration runs at a time. */
const LOCK = 7_263_511;

/** Every database since 0.2.0 begins with it. */
const FIRST = MIGRATIONS[0]?.name ?? '';

/**
 * @param url connection string of the database
 * @param log receives the name of each migration before it runs
 * @param list the migrations to run; tests pass fewer for an earlier schema
 * @returns the names of the migrations that it applied
 * @throws ConfigError for a database of a version before 0.2.0, which stays unchanged
 */
export async function migrate(
  url: string,
  log: (message: string) => void = () => undefined,
  list = MIGRATIONS,
): Promise<string[]> {
  // An index may take longer to build than a role gives its statements.
  const options = '-c client_min_messages=warning -c statement_timeout=0';
  const client = newClient({ connectionString: url, connectionTimeoutMillis: 5_000, options });
  const queryable = queryableOf(client);
  try {
    await client.connect();
    await takeTurn(client);
    const missing = await pendingMigrations(queryable, list);
    if (missing.length === list.length) await refuseOtherSchema(queryable);
    await client.query(
      'CREATE TABLE IF NOT EXISTS schema_migrations (name text PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())',
    );
    for (const { name, steps } of list.filter((one) => missing.includes(one.name))) {
      log(name);
      await takeSteps(client, name, steps);
      await client.query('INSERT INTO schema_migrations (name) VALUES ($1)', [name]);
      await client.query('DELETE FROM schema_migrations WHERE starts_with(name, $1)', [`${name}#`]);
    }
    await ensurePartitions(queryable, 'owner');
    return missing;
  } catch (error) {
    throw translateDatabaseError(error);
  } finally {
    await client.end().catch(() => undefined);
  }
}

/**
 * @returns the names of the migrations that the database lacks
 * @throws ConfigError for a database of a version before 0.2.0
 */
export async function pendingMigrations(queryable: Queryable, list = MIGRATIONS): Promise<string[]> {
  const applied = await readMigrations(queryable);
  refuseFormer(applied);
  return list.map(({ name }) => name).filter((name) => !applied.includes(name));
}

/**
 * Refuses a database of a version before 0.2.0: its tables have the current names, but other columns.
 * @throws ConfigError naming DATABASE_URL
 */
export async function refuseFormerDatabase(queryable: Queryable): Promise<void> {
  refuseFormer(await readMigrations(queryable));
}

const findOther = one<{ name: string }>(`
SELECT n.nspname AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relname = 'audit_beginning' AND c.relkind = 'r' AND n.nspname <> current_schema()`);

/** Refuses to make the tables again beside those that a session with another search path has made. */
async function refuseOtherSchema(queryable: Queryable): Promise<void> {
  const other = await findOther(queryable);
  if (other !== undefined)
    throw new ConfigError(
      'DATABASE_URL',
      `the tables of the service are in the schema ${other.name}: add ?options=-csearch_path%3D${encodeURIComponent(other.name)} to the address`,
    );
}

/** @param applied in the order of the names: the first one made the database */
function refuseFormer([first]: readonly string[]): void {
  if (first !== undefined && !first.startsWith(FIRST))
    throw new ConfigError(
      'DATABASE_URL',
      `a version before 0.2.0 made this database (migration ${first}), and this version cannot upgrade it; nothing was changed: ` +
        'give the service a new, empty database, or, where npm start runs Postgres, move the folder DATA_DIR away; ' +
        'docs/operations/upgrade.md says how to keep the data of 0.1.0',
    );
}

const hasMigrations = changed(`SELECT 1 WHERE to_regclass('schema_migrations') IS NOT NULL`);
const listNames = many<{ name: string }>('SELECT name FROM schema_migrations ORDER BY name');

/**
 * @returns the recorded names of migrations, and `name#n` for the steps of an unfinished migration; empty for a new
 *   database
 */
async function readMigrations(queryable: Queryable): Promise<string[]> {
  return (await hasMigrations(queryable)) ? (await listNames(queryable)).map(({ name }) => name) : [];
}

/**
 * Polls for the lock instead of waiting in a statement. CREATE INDEX CONCURRENTLY waits for every running statement, so
 * it would also wait for one that waits for this lock.
 */
async function takeTurn(client: pg.Client): Promise<void> {
  for (;;) {
    const { rows } = await client.query<{ held: boolean }>('SELECT pg_try_advisory_lock($1) AS held', [LOCK]);
    if (rows[0]?.held) return;
    await setTimeout(200);
  }
}

function queryableOf(client: pg.Client): Queryable {
  return {
    query: async <Row extends object>(
      text: string,
      values: readonly unknown[] = [],
      members?: 'camelCase',
    ) => {
      const config = { text, values: [...values] };
      const { rows, rowCount } = await (members ? sendForMembers(client, config) : client.query<Row>(config));
      return { rows, rowCount: rowCount ?? 0 };
    },
  };
}
