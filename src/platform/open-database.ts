// Opens the database of a process by its settings. Nothing else is loaded, so a command may need no more than this.
import { type Config, databaseMissing } from './config.ts';
import { createDatabase, type DatabaseLimits } from './database/database.ts';
import { timeIdsBy } from './database/ids.ts';
import { type Log, reasonOf } from './logging.ts';

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
  const url = config.databaseUrl;
  if (url === undefined) throw databaseMissing();
  const onError = (error: unknown) =>
    log.warn(
      { event: 'database.connection_broken', reason: reasonOf(error) },
      'a database connection broke; another will replace it',
    );
  const database = createDatabase({
    url,
    pool: config.databasePool,
    applicationName: `countersign ${name}`,
    onError,
    limits,
  });
  timeIdsBy(database.clock.now);
  return { database, url, onError };
}
