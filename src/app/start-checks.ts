// Checks that the settings fit the database before a process serves requests. The checks only read.
import type { Logger } from 'pino';
import { ConfigError } from '../platform/config.ts';
import type { Database } from '../platform/database/database.ts';
import { sqlState } from '../platform/database/errors.ts';
import { ServiceError } from '../platform/errors/service-error.ts';
import { type Log, reasonOf } from '../platform/logging.ts';
import type { wireApi } from './wiring/api.ts';

/** SQLSTATE of a missing table, column or function: the migration has not run yet. */
const NOT_MIGRATED = ['42P01', '42703', '42883'];

/** Milliseconds between two tries while the database does not answer. */
const PAUSE = 1_000;

type Api = ReturnType<typeof wireApi>;

type StartChecksNeeds = {
  check: () => Promise<void>;
  log: Pick<Log, 'warn'>;
  logger: Pick<Logger, 'fatal' | 'error'>;
};

/**
 * Repeats a check until it has passed.
 * @param check throws ConfigError when the settings do not fit
 * @param log gets a line for a try that came too early
 * @param logger gets the error of a later try; a ConfigError ends the process
 * @returns `begin`, the first try, which throws unless the database does not answer or is not migrated yet; `passed`,
 *   which tries again until the check has passed once; `keepTrying`, which calls `passed` each second until then
 */
export function createStartChecks({ check, log, logger }: StartChecksNeeds) {
  let hasPassed = false;
  let trying: Promise<void> | undefined;

  async function begin(): Promise<void> {
    try {
      await check();
      hasPassed = true;
    } catch (error) {
      if (!isTooEarly(error)) throw error;
      log.warn(
        { event: 'start_check.too_early', reason: reasonOf(error) },
        'the database does not answer, or is not migrated yet: not ready until then; trying again',
      );
    }
  }

  const passed = async (): Promise<boolean> => {
    if (hasPassed) return true;
    trying ??= begin()
      .catch((error) => leave(error, logger))
      .finally(() => {
        trying = undefined;
      });
    await trying;
    return hasPassed;
  };

  return {
    begin,
    passed,
    keepTrying: (): void => {
      const retry = setInterval(async () => {
        if (await passed()) clearInterval(retry);
      }, PAUSE).unref();
    },
  };
}

/** Ends a process that already serves, because only a changed setting can repair the fault. */
function leave(error: unknown, logger: Pick<Logger, 'fatal' | 'error'>): void {
  if (error instanceof ConfigError) {
    logger.fatal({ event: 'start_check.refused' }, error.message);
    process.exit(2);
  }
  logger.error({ event: 'start_check.failed', err: error }, 'a start check failed; it is tried again');
}

/**
 * Checks that a connection is a session of Postgres with the settings of this service. Behind a pooler without sessions
 * some statements fail and others do not, so a process that serves there would look healthy.
 * @throws ConfigError naming DATABASE_URL
 */
export async function refusePooler(database: Pick<Database, 'findPoolerFault'>): Promise<void> {
  const fault = await database.findPoolerFault();
  if (fault !== undefined) throw new ConfigError('DATABASE_URL', fault);
}

/**
 * Checks the master keys. A wrong key would seal new secrets beside old ones that it cannot open.
 * @throws ConfigError naming MASTER_KEY, also when a removed key is still needed to open secrets
 */
export async function refuseForeignMasterKey({
  issuer,
  sealedSecrets,
}: Pick<Api, 'issuer' | 'sealedSecrets'>): Promise<void> {
  const reason = await issuer.findSealingFault();
  if (reason !== undefined)
    throw new ConfigError(
      'MASTER_KEY',
      `does not fit this database (${reason}): set the key that the database was set up with`,
    );
  const missing = await sealedSecrets.listMissingKeys();
  if (missing.length === 0) return;
  const places = missing.map(({ table, column, keyId }) => `${table}.${column} names ${keyId}`);
  throw new ConfigError(
    'MASTER_KEY',
    `lacks a key that secrets are sealed with (${places.join(', ')}): add it behind the first one, and run countersign master-key reseal before it is left out`,
  );
}

/**
 * Checks the tenants' addresses: tokens carry the address, so another address would make them invalid.
 * @throws ConfigError naming PUBLIC_URL
 */
export async function refuseMovedTenants({ tenants }: Pick<Api, 'tenants'>): Promise<void> {
  const [moved, ...others] = await tenants.checkTenantAddresses();
  if (moved === undefined) return;
  const more = others.length === 0 ? '' : ` (and ${others.length} more)`;
  throw new ConfigError(
    'PUBLIC_URL',
    `the tenant ${moved.slug}${more} is at ${moved.storedUrl}, and the settings say ${moved.configuredUrl}: ` +
      `set PUBLIC_URL, TENANT_URL and DEFAULT_TENANT back, or run: countersign tenant move ${moved.slug}`,
  );
}

function isTooEarly(error: unknown): boolean {
  return (
    (error instanceof ServiceError && error.code === 'temporarily_unavailable') ||
    NOT_MIGRATED.includes(sqlState(error) ?? '')
  );
}
