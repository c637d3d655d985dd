// The worker role: workflows, attempts, the relay and the sweep of one process, from start to ordered stop.
import type { Logger } from 'pino';
import type { Config } from '../platform/config.ts';
import { refuseUnreleasedDatabase } from '../platform/database/migrate.ts';
import { answerInTime } from '../platform/http/health.ts';
import { createLogger } from '../platform/logger.ts';
import { reasonOf } from '../platform/logging.ts';
import { openPlatform, type Platform } from '../platform/platform.ts';
import { announceReady, onStop } from '../platform/process/part-protocol.ts';
import { releaseStartupMemory } from '../platform/process/startup-memory.ts';
import {
  awaitNamespace,
  connectNatively,
  createTemporalClient,
  probeTemporal,
} from '../platform/temporal/client.ts';
import { createMergedMetrics, installWithMetrics } from '../platform/temporal/core-metrics.ts';
import { TASK_QUEUES, WORKFLOW_TYPES } from '../platform/temporal/names.ts';
import { keepSchedules } from '../platform/temporal/schedules.ts';
import { installTemporalRuntime, type LogEntry, openDeliveryWorker } from '../platform/temporal/worker.ts';
import { readCurrentBuild, warnUnlessCurrent, workerVersionOf } from '../platform/temporal/worker-version.ts';
import { createWorkflowMetrics } from '../platform/temporal/workflow.metrics.ts';
import { openTracing } from '../platform/tracing/open-tracing.ts';
import { findFreePort } from './local/ports.ts';
import { measureProcess, probeDatabase, serveOperations } from './operations-port.ts';
import { createStartChecks, leave, refuseForeignMasterKey, refusePooler } from './start-checks.ts';
import { measureStanding, wireWorkerLoops, wireWorkerRooms } from './wiring/worker.ts';

/** Runs until it is stopped, then waits for the attempts under way. */
export async function runWorker(config: Config): Promise<void> {
  const logger = createLogger(config).child({ role: 'worker' });
  const tracing = await openTracing(config, { role: 'worker', logger });
  const platform = openPlatform(config, { logger, name: 'worker', tracing });
  const { database, registry } = platform;
  const rooms = wireWorkerRooms(platform);
  const checks = createStartChecks({
    check: async () => {
      await refusePooler(database);
      await refuseUnreleasedDatabase(database);
      await refuseForeignMasterKey(rooms);
    },
    onRefused: (error) => leave(error, logger),
  });
  await checks.begin();
  const ending = new AbortController();
  const steps: (() => unknown)[] = [];
  // The steps end readiness, then new work, then the work under way, then the connections.
  onStop(async () => {
    ending.abort();
    for (const step of steps) await step();
    await platform.close();
  });

  const address = await installWithMetrics({
    install: (metrics) => installTemporalRuntime(logOfSdk(platform), 'WARN', metrics),
    findPort: findFreePort,
  });
  const { namespace } = config.temporal;
  const opened = await openDeliveryWorker(() => connect(config, logger, ending.signal), {
    namespace,
    taskQueues: TASK_QUEUES,
    version: workerVersionOf(config),
    sinks: createWorkflowMetrics({ registry, types: WORKFLOW_TYPES }),
    tracing,
    activities: rooms.activities,
  }).catch((error: unknown) => {
    if (!ending.signal.aborted) throw error;
  });
  if (opened === undefined) return;
  const { connection, worker } = opened;
  const client = createTemporalClient(connection, { namespace });
  const loops = wireWorkerLoops(platform, rooms, client);

  const readiness = async () => {
    const [temporal, ping] = await Promise.allSettled([
      probeTemporal(connection, config.temporal),
      answerInTime(probeDatabase(platform)),
    ]);
    const connected = temporal.status === 'fulfilled' && temporal.value;
    return {
      ready: connected && ping.status === 'fulfilled' && !ending.signal.aborted && (await checks.passed()),
      database: ping.status === 'fulfilled' ? 'ok' : 'unavailable',
      temporal: connected ? 'ok' : 'unavailable',
      // Without search attributes workflows run too, but cannot be searched for.
      search_attributes: loops.starter.isIndexed() && loops.entities.isIndexed() ? 'ok' : 'degraded',
    };
  };
  const { clocks, keeper } = measureProcess(platform, { role: 'worker', readiness });
  measureStanding(platform, rooms);
  const metrics = createMergedMetrics({ registry, address });
  const operations = await serveOperations(config, { part: 'the worker', readiness, metrics });

  const running = worker.run();
  if (config.workerBuildId !== undefined)
    warnUnlessCurrent(readCurrentBuild({ connection, namespace }), config.workerBuildId, logger);
  // Also when no port serves readiness.
  checks.keepTrying();
  const relaying = await loops.relay.start();
  const sweeping = loops.sweep.start();
  const listening = loops.silence.start();
  const comparing = clocks.start();
  const keeping = keeper.start();
  const background = [loops.sealer, loops.hourCounter, loops.adoption].map((loop) => loop.start());
  const telling = loops.runner.start();
  const expiring = loops.expiryKeeper.start();
  const scheduling = keepSchedules({ client, onFailure: (error) => warnOfSchedule(error, logger) });
  steps.push(
    // Concurrently, so that no loop keeps running while another waits for a missing answer.
    () =>
      Promise.all(
        [relaying, scheduling, expiring, sweeping, telling, listening, comparing, ...background].map((loop) =>
          loop.stop(),
        ),
      ),
    () => worker.shutdown(),
    () => running,
    () => Promise.allSettled([rooms.close(), connection.close(), tracing.close(), keeping.stop()]),
    () => operations.close(),
  );
  logger.info({ event: 'worker.ready' }, 'the worker is ready');
  await releaseStartupMemory();
  announceReady();
  // The failure of the worker ends this process; its supervisor starts another.
  await running;
}

/** Waits for Temporal and for the namespace, until the signal. */
async function connect(config: Config, logger: Logger, signal: AbortSignal) {
  const { namespace } = config.temporal;
  const waiting = {
    signal,
    onFailure: () =>
      logger.warn(
        { event: 'temporal.unreachable', namespace },
        'Temporal does not answer for the namespace; trying again',
      ),
  };
  const opened = await connectNatively(config.temporal, waiting);
  await awaitNamespace(opened, config.temporal, waiting);
  return opened;
}

function warnOfSchedule(error: unknown, logger: Logger): void {
  logger.warn(
    { event: 'retention.schedule_failed', reason: reasonOf(error) },
    'the schedule of retention is not sure to be there; trying again',
  );
}

function logOfSdk({ log }: Platform) {
  return ({ level, message, meta }: LogEntry): void => {
    // One of the two workers deliberately serves attempts only, so this warning is dropped.
    if (message.startsWith('No workflows registered')) return;
    log[level === 'ERROR' ? 'error' : 'warn'](
      { event: 'temporal.sdk', reason: message, temporal: meta },
      'the SDK of Temporal reports',
    );
  };
}
