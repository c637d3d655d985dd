// Opens the database of a process by its settings. Nothing else is loaded, so a command may need no more than this.
import { type Config, databaseMissing } from '../config.ts';
import { createDatabase, type DatabaseLimits } from '../database/database.ts';
import { timeIdsBy } from '../database/ids.ts';
import { type Log, reasonOf } from '../logging.ts';

/** In milliseconds. */
const MINUTE = 60_000;

/**
 * @param options.name shown in pg_stat_activity
 * @param options.limits milliseconds; replace the default limits
 * @returns the database, its address, and what logs a connection that broke
 * @throws ConfigError without a database
 */
export function openDatabase(
  config: Pick<Config, 'databaseUrl' | 'databasePool'>,
  { log, name, limits }: { log: Log; name: string; limits?: DatabaseLimits | undefined },
) {
  const opened = open(config, log, { name, limits, pool: config.databasePool });
  timeIdsBy(opened.database.clock.now);
  return opened;
}

/**
 * Opens connections whose statements may take minutes, for the archive and the erasure of a tenant. The first statement
 * connects, and idle connections close by themselves.
 * @throws ConfigError without a database
 */
export function openPatientDatabase(config: Pick<Config, 'databaseUrl'>, { log }: { log: Log }) {
  const limits = { statement: 30 * MINUTE, answer: 31 * MINUTE, idleInTransaction: 10 * MINUTE };
  return open(config, log, { name: 'erasure', limits, pool: 2 }).database;
}

function open(
  { databaseUrl: url }: Pick<Config, 'databaseUrl'>,
  log: Log,
  { name, limits, pool }: { name: string; limits: DatabaseLimits | undefined; pool: number },
) {
  if (url === undefined) throw databaseMissing();
  const onError = (error: unknown) =>
    log.warn(
      { event: 'database.connection_broken', reason: reasonOf(error) },
      'a database connection broke; another will replace it',
    );
  const database = createDatabase({ url, pool, applicationName: `countersign ${name}`, onError, limits });
  return { database, url, onError };
}
