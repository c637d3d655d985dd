// The worker role: workflows, attempts, the relay and the sweep of one process, from start to ordered stop.
import type { Logger } from 'pino';
import type { Config } from '../platform/config.ts';
import { refuseFormerDatabase } from '../platform/database/migrate.ts';
import { answerInTime } from '../platform/http/health.ts';
import { createLogger } from '../platform/logger.ts';
import { reasonOf } from '../platform/logging.ts';
import { openPlatform, type Platform } from '../platform/opening/platform.ts';
import { announceReady, onStop } from '../platform/process/part-protocol.ts';
import { releaseStartupMemory } from '../platform/process/startup-memory.ts';
import {
  connectNatively,
  createLateClient,
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
import type { Tracing } from '../platform/tracing/tracing.ts';
import { within } from '../platform/within.ts';
import { findFreePort } from './local/ports.ts';
import { measureProcess, probeDatabase, serveOperations } from './operations-port.ts';
import { createStartChecks, refuseForeignMasterKey, refusePooler } from './start-checks.ts';
import { measureStanding, type WorkerRooms, wireWorkerLoops, wireWorkerRooms } from './wiring/worker.ts';

/** Milliseconds for which a starting relay waits for Temporal. */
const TEMPORAL_PATIENCE = 2_000;

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
      await refuseFormerDatabase(database);
      await refuseForeignMasterKey(rooms);
    },
    log: platform.log,
    logger,
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
  const opening = openTemporal(platform, rooms, tracing, ending.signal);
  const client = createLateClient(opening);
  const loops = wireWorkerLoops(platform, rooms, client);

  const readiness = async () => {
    const [temporal, ping] = await Promise.allSettled([
      probeTemporal(client),
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
  measureStanding(platform);
  const metrics = createMergedMetrics({ registry, address });
  const operations = await serveOperations(config, { part: 'the worker', readiness, metrics });
  // Also when no port serves readiness.
  checks.keepTrying();
  // First attempts need no workflows, and wait for them only where Temporal answers as usual.
  await within(TEMPORAL_PATIENCE, opening, () => undefined);
  const relaying = await loops.relay.start();
  const { sweep, silence, sealer, hourCounter } = loops;
  const running = [sweep, silence, clocks, sealer, hourCounter].map((loop) => loop.start());
  const keeping = keeper.start();
  let opened: Awaited<typeof opening>;
  let working: Promise<void> | undefined;
  steps.push(
    // Concurrently, so that no loop keeps running while another waits for a missing answer.
    () => Promise.all([relaying, ...running].map((loop) => loop.stop())),
    () => opened?.worker.shutdown(),
    () => working,
    () => Promise.allSettled([rooms.close(), opened?.connection.close(), tracing.close(), keeping.stop()]),
    () => operations.close(),
  );
  opened = await opening;
  if (opened === undefined || ending.signal.aborted) return;
  working = opened.worker.run();
  const { namespace } = config.temporal;
  if (config.workerBuildId !== undefined)
    warnUnlessCurrent(readCurrentBuild({ ...opened, namespace }), config.workerBuildId, logger);
  running.push(
    loops.runner.start(),
    loops.expiryKeeper.start(),
    keepSchedules({ client, onFailure: (error) => warnOfSchedule(error, logger) }),
  );
  logger.info({ event: 'worker.ready' }, 'the worker is ready');
  await releaseStartupMemory();
  announceReady();
  // The failure of the worker ends this process; its supervisor starts another.
  await working;
}

/** Makes the workers of Temporal as soon as it answers for the namespace. @returns undefined after the signal */
async function openTemporal(
  { config, registry, log }: Platform,
  { activities }: Pick<WorkerRooms, 'activities'>,
  tracing: Tracing,
  signal: AbortSignal,
) {
  const { namespace } = config.temporal;
  const onFailure = () =>
    log.warn(
      { event: 'temporal.unreachable', namespace },
      'Temporal does not answer for the namespace; first attempts are made, and workflows wait; trying again',
    );
  try {
    const opened = await openDeliveryWorker(() => connectNatively(config.temporal, { signal, onFailure }), {
      namespace,
      taskQueues: TASK_QUEUES,
      version: workerVersionOf(config),
      sinks: createWorkflowMetrics({ registry, types: WORKFLOW_TYPES }),
      tracing,
      activities,
    });
    return { ...opened, client: createTemporalClient(opened.connection, { namespace }) };
  } catch (error) {
    if (!signal.aborted) throw error;
    return undefined;
  }
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
