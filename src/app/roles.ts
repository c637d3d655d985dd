// The roles of the service from start to end: a role opens its parts, serves, and closes the parts in order.

import { fileURLToPath } from 'node:url';
import { type Config, databaseMissing, loadConfig, type Role } from '../platform/config.ts';
import { migrate, pendingMigrations, refuseUnreleasedDatabase } from '../platform/database/migrate.ts';
import { createApp } from '../platform/http/app.ts';
import { createHealth } from '../platform/http/health.ts';
import { createHttpServer } from '../platform/http/server.ts';
import { createLogger, reasonOf } from '../platform/logging.ts';
import { openPlatform } from '../platform/platform.ts';
import { type Listener, listen } from '../platform/process/part-listener.ts';
import { announceFailure, announceReady, onStop } from '../platform/process/part-protocol.ts';
import { exitWhenUncaught } from '../platform/process/uncaught.ts';
import {
  createLazyConnection,
  createTemporalClient,
  probeWithoutHooks,
} from '../platform/temporal/client.ts';
import { ensureNamespace } from '../platform/temporal/namespace.ts';
import { ensureSchedules } from '../platform/temporal/schedules.ts';
import { openTracing } from '../platform/tracing/open-tracing.ts';
import { prepareDemoTenant } from './local/demo-tenant.ts';
import { LocalStackError } from './local/local-stack-error.ts';
import { withMasterKey } from './local/master-key.ts';
import { explainListen } from './local/ports.ts';
import { runLocalStack } from './local/start.ts';
import { measureProcess, serveOperations } from './operations-port.ts';
import { createStartChecks, leave, refuseForeignMasterKey, refuseMovedTenants } from './start-checks.ts';
import { wireApi } from './wiring/api.ts';
import { runWorker } from './worker.ts';

type Environment = Readonly<Record<string, string | undefined>>;

export type Output = {
  /** True for programs as readers: api and worker log lines of JSON, `migrate` and `start` print one object. */
  readonly json: boolean;
  readonly print: (line: string) => void;
};

/** Milliseconds for unfinished answers when the API stops. */
const DRAIN = 8_000;

type Run = (config: Config, env: Environment, output: Output) => Promise<void>;

const ROLES: Readonly<Record<Exclude<Role, 'command'>, Run>> = {
  start: runStart,
  api: runApi,
  worker: runWorker,
  migrate: runMigrate,
};

/**
 * Runs a role until it is stopped.
 * @throws ConfigError when a setting is wrong; any other error that prevents the start, after a report to a supervisor
 */
export async function runRole(name: keyof typeof ROLES, env: Environment, output: Output): Promise<void> {
  try {
    const asked = output.json ? { ...env, LOG_FORMAT: 'json' } : env;
    const settings = name === 'api' || name === 'worker' ? await withMasterKey(asked) : asked;
    const config = loadConfig(settings, { role: name });
    // The other roles log to stderr, because --json reserves stdout for the printed object.
    const destination = name === 'api' || name === 'worker' ? process.stdout : process.stderr;
    exitWhenUncaught(createLogger(config, destination).child({ role: name }));
    await ROLES[name](config, settings, output);
  } catch (error) {
    announceFailure(error);
    throw error;
  }
}

async function runApi(config: Config): Promise<void> {
  const logger = createLogger(config).child({ role: 'api' });
  const tracing = await openTracing(config, { role: 'api', logger });
  const platform = openPlatform(config, { logger, name: 'api', tracing });
  const { database, registry } = platform;
  const api = wireApi(platform);
  const checks = createStartChecks({
    check: async () => {
      await refuseUnreleasedDatabase(database);
      await refuseForeignMasterKey(api);
      await refuseMovedTenants(api);
    },
    onRefused: (error) => leave(error, logger),
  });
  // The API also starts without its database. It is then not ready, and answers 503 until the database is back.
  await checks.begin();
  const temporal = createLazyConnection(config.temporal);
  const health = createHealth({
    ping: () => database.query('SELECT 1'),
    pendingMigrations: () => pendingMigrations(database.sequelize),
    passedStartChecks: checks.passed,
    probeTemporal: () => probeWithoutHooks(temporal, config.temporal),
  });
  const app = createApp({ ...api, database, health, config, logger, tracing });
  const readiness = async () => ({ ...(await health.ready()) });
  const { clocks } = measureProcess(platform, { role: 'api', readiness });
  const http = createHttpServer(app, config);
  let listener: Listener | undefined;
  let operations: { close(): void } | undefined;
  let attempting: { stop(): Promise<void> } | undefined;
  let comparing: { stop(): Promise<void> } | undefined;
  onStop(async () => {
    health.beginDrain();
    await Promise.all([http.drain(DRAIN), listener?.drain(DRAIN)]);
    await Promise.all([attempting?.stop(), comparing?.stop()]);
    operations?.close();
    await Promise.allSettled([api.close(), temporal.close(), tracing.close()]);
    await platform.close();
  });
  operations = await serveOperations(config, {
    part: 'the API',
    readiness,
    metrics: () => registry.metrics(),
    // A busy metrics port is an error only when METRICS_PORT is set, because several api processes may share a machine.
    onMissing: config.metricsPortGiven
      ? undefined
      : (error) =>
          logger.warn(
            { event: 'metrics.port_taken', reason: reasonOf(error) },
            'nobody can ask this process for its metrics',
          ),
  });
  api.revocations.start();
  comparing = clocks.start();
  attempting = api.directAttempts?.start();
  listener = await listen(http.server, config).catch((error: unknown) => {
    throw explainListen(error, { ...config, variable: 'PORT', part: 'the API' });
  });
  // The checks are repeated also when no port serves readiness.
  checks.keepTrying();
  logger.info({ event: 'api.ready', port: listener.port }, 'the API is ready');
  announceReady();
}

async function runMigrate(config: Config, _env: Environment, { json, print }: Output): Promise<void> {
  const logger = createLogger(json ? { ...config, logLevel: 'silent' } : config).child({ role: 'migrate' });
  if (config.databaseUrl === undefined) throw databaseMissing();
  const applied = await migrate(config.databaseUrl, (name) =>
    logger.info({ event: 'migrate.applying', migration: name }, 'applying'),
  );
  logger.info(
    { event: 'migrate.applied', applied },
    applied.length === 0 ? 'the database was up to date' : 'the database is up to date',
  );
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

async function runStart(config: Config, env: Environment, { json, print }: Output): Promise<void> {
  await runLocalStack({
    config,
    main: fileURLToPath(new URL('../main.js', import.meta.url)),
    environment: { ...env },
    migrate: (url) => migrate(url),
    prepare: (environment) => prepareDemoTenant(environment),
    say: json ? (line) => process.stderr.write(`${line}\n`) : print,
    onReady: json ? (stack) => print(JSON.stringify({ status: 'ready', ...stack })) : undefined,
  });
}
