// The worker's task queues: workflows with quick attempts in one, other attempts in two more, those of slow receivers apart.
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import {
  DefaultLogger,
  type InjectedSinks,
  type MetricsExporterConfig,
  type NativeConnection,
  Runtime,
  Worker,
  type WorkerOptions,
  type WorkflowBundleOption,
} from '@temporalio/worker';
import { Registry } from 'prom-client';
import type { Activities } from '../../../activities/index.ts';
import { NO_TRACING, type Tracing } from '../tracing/tracing.ts';
import { traceActivities } from './activity-traces.ts';
import type { TaskQueues } from './names.ts';
import type { WorkerVersion } from './worker-version.ts';
import { createWorkflowMetrics, type WorkflowMetricSinks } from './workflow.metrics.ts';

/** How much one worker process does at once. */
const WORKER_LIMITS = {
  /** Tasks in which a local attempt runs are held while it runs. */
  workflowTasks: 256,
  localAttempts: 64,
  attempts: 200,
  slowAttempts: 200,
  cachedWorkflows: 2_000,
} as const;

/** Milliseconds that an attempt under way gets: above the time-out of a send; and above that, until a worker no longer waits for it. */
export const WORKER_SHUTDOWN = { shutdownGraceTime: 20_000, shutdownForceTime: 25_000 } as const;

const BUNDLE = fileURLToPath(new URL('../../../workflow-bundle.js', import.meta.url));
const SOURCE = fileURLToPath(
  new URL(`../../../workflows/index${import.meta.url.slice(-3)}`, import.meta.url),
);

/** What comes around every workflow, next to this file's own form. */
export const INTERCEPTOR_PATHS = ['metrics', 'cancellation'].map((name) =>
  SOURCE.replace(/index(\.[jt]s)$/, `${name}.interceptors$1`),
);

/** The entry file of the workflows, next to this file's own form (TypeScript, or built). */
export const WORKFLOWS_PATH = SOURCE;

export type LogEntry = { level: string; message: string; meta?: Record<string, unknown> | undefined };

/**
 * Sets up Temporal's core for this process, once and before anything connects: its log goes to ours, and it leaves signals to the
 * process, which stops its parts in order.
 * @param metrics where the core serves its own metrics
 * @throws when that address is taken; then nothing is installed
 */
export function installTemporalRuntime(
  log: (entry: LogEntry) => void,
  level: 'INFO' | 'WARN' = 'WARN',
  metrics?: MetricsExporterConfig | undefined,
): void {
  Runtime.install({
    logger: new DefaultLogger(level, (entry) => log(entry)),
    telemetryOptions: {
      logging: { forward: {}, filter: { core: level, other: 'ERROR' } },
      ...(metrics === undefined ? {} : { metrics }),
    },
    shutdownSignals: [],
  });
}

/**
 * Makes the workers of one process; they poll from `run` until `shutdown`.
 * @param options.workflows a bundle; without one the prebuilt bundle, and where there is none, the sources
 * @param options.version what these workers are to Temporal: work comes to them while it is current. Without it, whatever is there does
 * @param options.sinks hear of what workflows do; without them nobody does
 * @returns `run`, which rejects when a worker fails, and `shutdown`, which lets attempts under way finish and then lets `run` resolve
 */
export async function createDeliveryWorker({
  connection,
  namespace,
  taskQueues,
  activities,
  workflows,
  limits = WORKER_LIMITS,
  version,
  sinks = createWorkflowMetrics({ registry: new Registry() }),
  tracing = NO_TRACING,
}: {
  connection: NativeConnection;
  namespace: string;
  taskQueues: TaskQueues;
  activities: Partial<Activities>;
  workflows?: WorkflowBundleOption | undefined;
  limits?: typeof WORKER_LIMITS | undefined;
  version?: WorkerVersion | undefined;
  sinks?: InjectedSinks<WorkflowMetricSinks> | undefined;
  tracing?: Tracing | undefined;
}) {
  const shared = {
    connection,
    namespace,
    activities,
    ...WORKER_SHUTDOWN,
    ...versioning(version),
    interceptors: tracing.on ? { activity: [traceActivities(tracing)] } : {},
  };
  const { interceptors, ...source } = workflowSource(workflows);
  const main = await Worker.create({
    ...shared,
    ...source,
    interceptors: { ...shared.interceptors, ...interceptors },
    sinks,
    taskQueue: taskQueues.main,
    reuseV8Context: true,
    maxCachedWorkflows: limits.cachedWorkflows,
    maxConcurrentWorkflowTaskExecutions: limits.workflowTasks,
    maxConcurrentLocalActivityExecutions: limits.localAttempts,
    maxConcurrentActivityTaskExecutions: limits.localAttempts,
  });
  const attempts = await Worker.create({
    ...shared,
    taskQueue: taskQueues.attempts,
    maxConcurrentActivityTaskExecutions: limits.attempts,
  });
  const slow = await Worker.create({
    ...shared,
    taskQueue: taskQueues.slow,
    maxConcurrentActivityTaskExecutions: limits.slowAttempts,
  });
  const workers = [main, attempts, slow];
  return {
    run: async (): Promise<void> => {
      const runs = workers.map((worker) => worker.run());
      try {
        await Promise.all(runs);
      } finally {
        // One that fails takes the other with it: half a worker would keep deliveries waiting.
        stop(workers);
        await Promise.allSettled(runs);
      }
    },
    shutdown: (): void => stop(workers),
  };
}

function stop(workers: readonly Worker[]): void {
  for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown();
}

/** A workflow goes on with whatever version is current: it may wait for a month, and must not wait for workers that are gone. */
function versioning(version: WorkerVersion | undefined): Pick<WorkerOptions, 'workerDeploymentOptions'> {
  if (version === undefined) return {};
  return {
    workerDeploymentOptions: {
      version,
      useWorkerVersioning: true,
      defaultVersioningBehavior: 'AUTO_UPGRADE',
    },
  };
}

function workflowSource(
  workflows: WorkflowBundleOption | undefined,
): Pick<WorkerOptions, 'workflowBundle' | 'workflowsPath' | 'interceptors'> {
  if (workflows !== undefined) return { workflowBundle: workflows };
  return existsSync(BUNDLE)
    ? { workflowBundle: { codePath: BUNDLE } }
    : { workflowsPath: SOURCE, interceptors: { workflowModules: INTERCEPTOR_PATHS } };
}
