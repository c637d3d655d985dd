// The migrate role: brings the database, the Temporal namespace and its schedules up to date, and ends.
import { type Config, databaseMissing } from '../platform/config.ts';
import { migrate } from '../platform/database/migrate.ts';
import { grantServiceRole } from '../platform/database/service-role.ts';
import { createLogger } from '../platform/logger.ts';
import { createLazyConnection, createTemporalClient } from '../platform/temporal/client.ts';
import { ensureNamespace } from '../platform/temporal/namespace.ts';
import { ensureSchedules } from '../platform/temporal/schedules.ts';
import { LocalStackError } from './local/local-stack-error.ts';
import type { Environment, Output } from './roles.ts';
import { refuseForeignMasterKey } from './start-checks.ts';
import { beginAuditLog } from './wiring/begin-audit-log.ts';
import { wireManagement } from './wiring/commands.ts';

/**
 * @throws ConfigError without a database address, or when the master key does not fit the database; LocalStackError
 *   naming the setting when Temporal refuses
 */
export async function runMigrate(config: Config, _env: Environment, { json, print }: Output): Promise<void> {
  const logger = createLogger(json ? { ...config, logLevel: 'silent' } : config).child({ role: 'migrate' });
  if (config.databaseUrl === undefined) throw databaseMissing();
  const applied = await migrate(config.databaseUrl, (name) =>
    logger.info({ event: 'migrate.applying', migration: name }, 'applying'),
  );
  logger.info(
    { event: 'migrate.applied', applied },
    applied.length === 0 ? 'the database was up to date' : 'the database is up to date',
  );
  await checkMasterKeys(config);
  await beginAuditLog(config, logger);
  if (config.databaseRole !== undefined) {
    await grantServiceRole(config.databaseUrl, config.databaseRole);
    logger.info(
      { event: 'migrate.role_granted', role: config.databaseRole.name },
      'api and worker may connect as this role',
    );
  }
  const connection = createLazyConnection(config.temporal);
  try {
    const prepare = async () => {
      const attributes = await ensureNamespace(connection, config.temporal);
      await ensureSchedules(createTemporalClient(connection, config.temporal));
      return attributes;
    };
    const attributes = await prepare().catch((error: unknown) => {
      const { message, details } = error as Error & { details?: string };
      throw new LocalStackError(
        `TEMPORAL_ADDRESS: the namespace ${config.temporal.namespace} cannot be made ready: ${(details || message).split('\n')[0]}`,
        { cause: error },
      );
    });
    logger.info(
      { event: 'migrate.namespace_ready', namespace: config.temporal.namespace, attributes },
      'the Temporal namespace is ready',
    );
    if (json) print(JSON.stringify({ applied, attributes }));
  } finally {
    await connection.close();
  }
}

/** A restore with another key is noticed here, and not by the first process that is started. */
async function checkMasterKeys(config: Config): Promise<void> {
  if (config.masterKeys.length === 0) return;
  const services = wireManagement(config);
  try {
    await refuseForeignMasterKey(services);
  } finally {
    await services.close();
  }
}
