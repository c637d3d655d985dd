// The API role of one process, from start to ordered stop.
import type { Config } from '../platform/config.ts';
import { pendingMigrations, refuseFormerDatabase } from '../platform/database/migrate.ts';
import { createApp } from '../platform/http/app.ts';
import { createHealth } from '../platform/http/health.ts';
import { createHttpServer } from '../platform/http/server.ts';
import { createLogger } from '../platform/logger.ts';
import { reasonOf } from '../platform/logging.ts';
import { openPlatform } from '../platform/opening/platform.ts';
import { announceReady, onStop } from '../platform/process/part-protocol.ts';
import { releaseStartupMemory } from '../platform/process/startup-memory.ts';
import { askTemporal } from '../platform/temporal/probe.client.ts';
import { openTracing } from '../platform/tracing/open-tracing.ts';
import { explainListen } from './local/ports.ts';
import { measureProcess, probeDatabase, serveOperations } from './operations-port.ts';
import {
  createStartChecks,
  refuseForeignMasterKey,
  refuseMovedTenants,
  refusePooler,
} from './start-checks.ts';
import { wireApi } from './wiring/api.ts';

/** Milliseconds for unfinished answers when the API stops. */
const DRAIN = 8_000;

/** Of these, milliseconds in which a gateway's connections are not closed but by an answer. */
const LINGER = 1_000;

/** Runs until it is stopped, then answers the requests under way. */
export async function runApi(config: Config): Promise<void> {
  const logger = createLogger(config).child({ role: 'api' });
  const tracing = await openTracing(config, { role: 'api', logger });
  const platform = openPlatform(config, { logger, name: 'api', tracing });
  const { database, registry } = platform;
  // Otherwise the first request that uses a model would wait until Sequelize is loaded.
  database.openSequelize();
  const api = wireApi(platform);
  const checks = createStartChecks({
    check: async () => {
      await refusePooler(database);
      await refuseFormerDatabase(database);
      await refuseForeignMasterKey(api);
      await refuseMovedTenants(api);
    },
    log: platform.log,
    logger,
  });
  // The API also starts without its database. It is then not ready, and answers 503 until the database is back.
  await checks.begin();
  const health = createHealth({
    ping: () => probeDatabase(platform),
    pendingMigrations: () => pendingMigrations(database),
    passedStartChecks: checks.passed,
    probeTemporal: () => askTemporal(config.temporal),
  });
  const app = createApp({ ...api, database, health, config, logger, tracing });
  const readiness = async () => ({ ...(await health.ready()) });
  const { clocks, keeper } = measureProcess(platform, { role: 'api', readiness });
  const http = createHttpServer(app, config);
  let operations: { close(): void } | undefined;
  let attempting: { stop(): Promise<void> } | undefined;
  let comparing: { stop(): Promise<void> } | undefined;
  let keeping: { stop(): Promise<void> } | undefined;
  onStop(async () => {
    health.beginDrain();
    api.endWaits();
    await http.drain(DRAIN, LINGER);
    await Promise.all([attempting?.stop(), comparing?.stop()]);
    operations?.close();
    await Promise.allSettled([api.close(), tracing.close(), keeping?.stop()]);
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
  keeping = keeper.start();
  attempting = api.directAttempts?.start();
  const { port } = await http.listen(config).catch((error: unknown) => {
    throw explainListen(error, { ...config, variable: 'PORT', part: 'the API' });
  });
  // The checks are repeated also when no port serves readiness.
  checks.keepTrying();
  logger.info({ event: 'api.ready', port }, 'the API is ready');
  await releaseStartupMemory();
  announceReady();
}
