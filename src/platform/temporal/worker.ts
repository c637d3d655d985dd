// The workers of the three task queues: workflows with quick activities, attempts, and attempts for slow receivers.
import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Script } from 'node:vm';
import {
  type CompiledWorkerOptions,
  DefaultLogger,
  type InjectedSinks,
  type MetricsExporterConfig,
  type NativeConnection,
  Runtime,
  TransportError,
  Worker,
  type WorkerOptions,
  type WorkflowBundleOption,
} from '@temporalio/worker';
import { ReusableVMWorkflowCreator } from '@temporalio/worker/lib/workflow/reusable-vm.js';
import { Registry } from 'prom-client';
import type { Activities } from '../../../activities/index.ts';
import { NO_TRACING, type Tracing } from '../tracing/tracing.ts';
import { traceActivities } from './activity-traces.ts';
import type { TaskQueues } from './names.ts';
import type { WorkerVersion } from './worker-version.ts';
import { createWorkflowMetrics, type WorkflowMetricSinks } from './workflow.metrics.ts';

type Bundle = ConstructorParameters<typeof ReusableVMWorkflowCreator>[1];

/** Without a time limit a call into the sandbox starts no watchdog. All workflows are our own. */
const NO_LIMIT = undefined as unknown as number;

/**
 * A worker whose workflows run in a sandbox on the main thread. In the SDK's thread the sandbox costs more than the
 * workflow: messages for each step, a watchdog thread for each call, and a stack trace for each promise. Its workflows
 * have no `__stack_trace`. As in the SDK's thread, all workflows share one V8 context, and each has its
 * own globals.
 */
class SandboxWorker extends Worker {
  protected static override async createWorkflowCreator(
    bundle: Bundle,
    { activities }: CompiledWorkerOptions,
  ): Promise<ReusableVMWorkflowCreator> {
    const script = new Script(bundle.code, { filename: bundle.filename });
    return new ReusableVMWorkflowCreator(script, bundle, NO_LIMIT, new Set(activities.keys()));
  }
}

const WORKER_LIMITS = {
  /** A local attempt occupies its workflow task while it runs. */
  workflowTasks: 256,
  localAttempts: 192,
  quickActivities: 64,
  attempts: 200,
  slowAttempts: 200,
  cachedWorkflows: 2_000,
} as const;

/**
 * Milliseconds at shutdown: first for attempts under way (longer than the time limit of an attempt), then until the
 * worker stops waiting for them.
 */
export const WORKER_SHUTDOWN = { shutdownGraceTime: 20_000, shutdownForceTime: 25_000 } as const;

const BUNDLE = fileURLToPath(new URL('../../../workflow-bundle.js', import.meta.url));
const SOURCE = fileURLToPath(
  new URL(`../../../workflows/index${import.meta.url.slice(-3)}`, import.meta.url),
);

/** The interceptors of every workflow: TypeScript or built, like this file. */
export const INTERCEPTOR_PATHS = ['metrics', 'cancellation'].map((name) =>
  SOURCE.replace(/index(\.[jt]s)$/, `${name}.interceptors$1`),
);

/** How often workers are made again after Temporal failed meanwhile. An error that stays is reported. */
const TRIES = 10;

/** Milliseconds before the workers are made again. */
const PAUSE = 250;

/** The entry file of the workflows: TypeScript or built, like this file. */
export const WORKFLOWS_PATH = SOURCE;

export type LogEntry = { level: string; message: string; meta?: Record<string, unknown> | undefined };

/**
 * Sets up Temporal's core for this process, once and before the first connection. The core logs to the service's log
 * and handles no signals, so that the process can stop its parts in order.
 * @param metrics the address at which the core serves its metrics
 * @throws when that address is busy; then nothing is installed
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
 * @param options.workflows a bundle; by default the prebuilt bundle, or the sources if there is none
 * @param options.version the version of these workers: they receive work while it is current. Without it they are
 *   unversioned
 * @param options.sinks receive the reports of workflows; by default the reports are dropped
 * @returns `run`, which rejects when a worker fails, and `shutdown`, which waits for attempts under way, after which
 *   `run` resolves
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
  const main = await SandboxWorker.create({
    ...shared,
    ...source,
    interceptors: { ...shared.interceptors, ...interceptors },
    sinks,
    taskQueue: taskQueues.main,
    reuseV8Context: true,
    maxCachedWorkflows: limits.cachedWorkflows,
    maxConcurrentWorkflowTaskExecutions: limits.workflowTasks,
    maxConcurrentLocalActivityExecutions: limits.localAttempts,
    maxConcurrentActivityTaskExecutions: limits.quickActivities,
  });
  const serve = (taskQueue: string, maxConcurrentActivityTaskExecutions: number) =>
    Worker.create({ ...shared, taskQueue, maxConcurrentActivityTaskExecutions });
  const attempts = await serve(taskQueues.attempts, limits.attempts);
  const slow = await serve(taskQueues.slow, limits.slowAttempts);
  const workers = [main, attempts, slow];
  return {
    run: async (): Promise<void> => {
      const runs = workers.map((worker) => worker.run());
      try {
        await Promise.all(runs);
      } finally {
        // A failed worker stops the other as well, because deliveries need both.
        stop(workers);
        await Promise.allSettled(runs);
      }
    },
    shutdown: (): void => stop(workers),
  };
}

/**
 * Connects and makes the workers of one process. When Temporal fails meanwhile, both are made again, because a
 * connection keeps the task queues of the workers that were not made.
 * @param connect resolves when Temporal answers for the namespace
 * @throws what `connect` throws; any other failure of `createDeliveryWorker`, and a failure of Temporal that stays
 */
export async function openDeliveryWorker(
  connect: () => Promise<NativeConnection>,
  options: Omit<Parameters<typeof createDeliveryWorker>[0], 'connection'>,
) {
  for (let tries = 1; ; tries += 1) {
    const connection = await connect();
    try {
      return { connection, worker: await createDeliveryWorker({ ...options, connection }) };
    } catch (error) {
      await connection.close().catch(() => undefined);
      if (!(error instanceof TransportError) || tries === TRIES) throw error;
      await sleep(PAUSE);
    }
  }
}

function stop(workers: readonly Worker[]): void {
  for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown();
}

/**
 * A workflow moves to each new current version, because it may wait for a month, and the workers of its first version
 * may have ended by then.
 */
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
