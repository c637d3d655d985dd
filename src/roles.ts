// What each role of the service does from its start to its end. Wiring is in compose.ts; a role only opens, serves and closes in order.
import { fileURLToPath } from 'node:url';
import { operatorContext } from './audit/audit.ts';
import { composeCore, composeManagement, composeRoutes } from './compose.ts';
import { type Config, ConfigError, loadConfig, type Role } from './config.ts';
import { newId } from './database/ids.ts';
import { migrate, pendingMigrations } from './database/migrate.ts';
import { ServiceError } from './errors/service-error.ts';
import { createApp } from './http/app.ts';
import { createHealth } from './http/health.ts';
import { createHttpServer } from './http/server.ts';
import { ensureDemoTenant } from './local/demo-tenant.ts';
import { runLocalStack } from './local/start.ts';
import { createLogger } from './logging.ts';
import { type Listener, listen } from './process/part-listener.ts';
import { announceFailure, announceReady, onStop } from './process/part-protocol.ts';
import { createLazyConnection, probeTemporal } from './temporal/client.ts';
import { ensureNamespace } from './temporal/namespace.ts';
import { APPLICATION_SCOPES } from './tokens/scope.ts';
import { runWorker } from './worker.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Milliseconds that answers under way get when the API stops. */
const DRAIN = 8_000;

const ROLES: Readonly<Record<Exclude<Role, 'command'>, (config: Config, env: Environment) => Promise<void>>> =
  {
    start: runStart,
    api: runApi,
    worker: runWorker,
    migrate: runMigrate,
  };

/**
 * Runs a role until it is told to stop.
 * @throws ConfigError when a setting is wrong; what else keeps it from starting, having told a supervisor
 */
export async function runRole(name: keyof typeof ROLES, env: Environment): Promise<void> {
  try {
    await ROLES[name](loadConfig(env, { role: name }), env);
  } catch (error) {
    announceFailure(error);
    throw error;
  }
}

async function runApi(config: Config): Promise<void> {
  const logger = createLogger(config).child({ role: 'api' });
  const core = composeCore(config, { logger, name: 'api' });
  const { database, tenants, revocations } = core;
  await refuseMovedTenants(core);
  const { routes, tokens, dpop, close } = composeRoutes(config, core, logger);
  const temporal = createLazyConnection(config.temporal);
  const health = createHealth({
    ping: () => database.query('SELECT 1'),
    pendingMigrations: () => pendingMigrations(database.sequelize),
    probeTemporal: () => probeTemporal(temporal, config.temporal),
  });
  const app = createApp({
    routes,
    tenants,
    authenticate: tokens.authenticate,
    dpop,
    database,
    health,
    config,
    logger,
  });
  const http = createHttpServer(app, config);
  let listener: Listener | undefined;
  onStop(async () => {
    health.beginDrain();
    await Promise.all([http.drain(DRAIN), listener?.drain(DRAIN)]);
    await Promise.allSettled([close(), temporal.close()]);
    await core.close();
  });
  revocations.start();
  listener = await listen(http.server, config);
  logger.info({ port: listener.port }, 'the API is ready');
  announceReady();
}

/** A tenant's tokens carry its address: serving it elsewhere would make tokens that nobody can validate. */
async function refuseMovedTenants({ tenants, close }: ReturnType<typeof composeCore>): Promise<void> {
  const [moved, ...others] = await tenants.checkTenantAddresses().catch((error: unknown) => {
    // Without its database the API starts all the same, and answers 503 until it is back.
    if (error instanceof ServiceError && error.code === 'temporarily_unavailable') return [];
    throw error;
  });
  if (moved === undefined) return;
  await close();
  const more = others.length === 0 ? '' : ` (and ${others.length} more)`;
  throw new ConfigError(
    'PUBLIC_URL',
    `the tenant ${moved.slug}${more} is at ${moved.storedUrl}, and the settings say ${moved.configuredUrl}: ` +
      `set PUBLIC_URL, TENANT_URL and DEFAULT_TENANT back, or run: countersign tenant move ${moved.slug}`,
  );
}

async function runMigrate(config: Config): Promise<void> {
  const logger = createLogger(config).child({ role: 'migrate' });
  if (config.databaseUrl === undefined) throw new ConfigError('DATABASE_URL', 'is required');
  const applied = await migrate(config.databaseUrl, (name) => logger.info({ migration: name }, 'applying'));
  logger.info(
    { applied },
    applied.length === 0 ? 'the database was up to date' : 'the database is up to date',
  );
  const connection = createLazyConnection(config.temporal);
  try {
    const attributes = await ensureNamespace(connection, config.temporal);
    logger.info({ namespace: config.temporal.namespace, attributes }, 'the Temporal namespace is ready');
  } finally {
    await connection.close();
  }
}

async function runStart(config: Config, env: Environment): Promise<void> {
  await runLocalStack({
    config,
    main: fileURLToPath(new URL('./main.js', import.meta.url)),
    environment: { ...env },
    migrate: (url) => migrate(url),
    prepare: (environment) => prepareDemoTenant(environment),
    say: (line) => process.stdout.write(`${line}\n`),
  });
}

async function prepareDemoTenant(environment: Environment): Promise<string[]> {
  const config = loadConfig(environment, { role: 'command' });
  const slug = config.defaultTenant;
  if (slug === undefined) return [];
  const services = composeManagement(config, createLogger({ ...config, logLevel: 'warn' }));
  const { tenants, applications, provisioning } = services;
  try {
    return await ensureDemoTenant({
      dataDir: config.dataDir,
      slug,
      tenants,
      provisioning,
      renew: async () => {
        const tenant = await tenants.bySlug(slug);
        if (tenant === undefined) throw new ServiceError('not_found');
        const input = { name: 'Demo', scopes: APPLICATION_SCOPES };
        const created = await applications.create(operatorContext(tenant, newId()), input);
        return { client_id: created.application.id, client_secret: created.clientSecret };
      },
    });
  } finally {
    await services.close();
  }
}
