// Versions of the workers in Temporal's worker deployments: which version gets the work. Only an operator changes that:
// otherwise an old worker would take the work back when it restarts.
import { setTimeout as sleep } from 'node:timers/promises';
import { type Connection, isGrpcServiceError } from '@temporalio/client';
import proto, { type temporal } from '@temporalio/proto';
import type { NativeConnection } from '@temporalio/worker';
import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import { ServiceError } from '../errors/service-error.ts';
import { TASK_QUEUES, type TaskQueues, WORKER_DEPLOYMENT } from './names.ts';
import { neededPolls, readPollingBuilds } from './poller.client.ts';

/** One build of the workers, as Temporal identifies it. */
export type WorkerVersion = { readonly deploymentName: string; readonly buildId: string };

/**
 * `status`: `inactive` (gets nothing yet), `current`, `ramping`, `draining` (workflows may still be on it) or
 * `drained`.
 */
type ListedVersion = { readonly buildId: string; readonly status: string };

/** `current`: null while workers without a build id get the work. */
export type ListedVersions = { readonly current: string | null; readonly versions: readonly ListedVersion[] };

/** gRPC status codes. */
const NOT_FOUND = 5;
const FAILED_PRECONDITION = 9;

/** Milliseconds between two checks. */
const PAUSE = 500;

/** The version of this worker process; undefined where versions are not used. */
export function workerVersionOf({
  workerBuildId: buildId,
}: Pick<Config, 'workerBuildId'>): WorkerVersion | undefined {
  return buildId === undefined ? undefined : { deploymentName: WORKER_DEPLOYMENT, buildId };
}

/**
 * @param options.deploymentName the deployment that the builds belong to
 * @param options.taskQueues a build that gets the work must have workers on each of them
 */
export function createWorkerVersions({
  connection,
  namespace,
  deploymentName = WORKER_DEPLOYMENT,
  taskQueues = TASK_QUEUES,
}: {
  connection: Connection | NativeConnection;
  namespace: string;
  deploymentName?: string | undefined;
  taskQueues?: TaskQueues | undefined;
}) {
  const service = connection.workflowService;

  /**
   * Whether the deployment knows the build, and its workers poll for all kinds of work now. An earlier poll proves
   * nothing: that worker may have ended.
   */
  const hasWorkers = async (buildId: string): Promise<boolean> => {
    const deploymentVersion = { deploymentName, buildId };
    const isKnown =
      buildId === '' ||
      (await unlessMissing(service.describeWorkerDeploymentVersion({ namespace, deploymentVersion })));
    if (!isKnown) return false;
    const polling = neededPolls(taskQueues).map(([taskQueue, kind]) =>
      readPollingBuilds(service, { namespace, taskQueue, kind, deploymentName }),
    );
    return (await Promise.all(polling)).every((builds) => builds.has(buildId));
  };

  const setCurrent = (buildId: string) =>
    service.setWorkerDeploymentCurrentVersion({
      namespace,
      deploymentName,
      buildId,
      identity: 'countersign worker-version',
    });

  return {
    /**
     * The builds that Temporal knows, newest first. @throws ServiceError `temporarily_unavailable` when it does not
     * answer
     */
    list: async (): Promise<ListedVersions> => {
      const found = await answered(
        unlessMissing(service.describeWorkerDeployment({ namespace, deploymentName })),
      );
      const info = found?.workerDeploymentInfo;
      return {
        current: info?.routingConfig?.currentDeploymentVersion?.buildId || null,
        versions: (info?.versionSummaries ?? []).map(({ deploymentVersion, status }) => ({
          buildId: deploymentVersion?.buildId ?? '',
          status: statusName(status),
        })),
      };
    },

    /**
     * Gives the work to a build: new workflows, and each running one from its next task on. Safe to repeat.
     * @param buildId of workers that run, or ran 75 seconds ago; an empty one gives it to workers without a build id
     * @param options.patience milliseconds to wait for such workers
     * @throws ServiceError `temporarily_unavailable` when there are none on all of the queues, or Temporal does not
     *   answer
     */
    makeCurrent: async (
      buildId: string,
      { patience = 30_000 }: { patience?: number } = {},
    ): Promise<void> => {
      for (const deadline = Date.now() + patience; ; await sleep(PAUSE)) {
        try {
          if (await hasWorkers(buildId)) {
            await setCurrent(buildId);
            return;
          }
        } catch (error) {
          // The workers know the build already; other parts of Temporal may not know it yet.
          if (!isGrpcServiceError(error) || error.code !== FAILED_PRECONDITION) throw asUnavailable(error);
        }
        if (Date.now() >= deadline)
          throw unavailable(
            `No workers ${buildId === '' ? 'without WORKER_BUILD_ID' : `with WORKER_BUILD_ID=${buildId}`} were seen on all of the queues ${Object.values(taskQueues).join(', ')}.`,
          );
      }
    },
  };
}

export type WorkerVersions = ReturnType<typeof createWorkerVersions>;

/** Warns once, in the background, when a worker that has just started gets no work yet. */
export function warnUnlessCurrent(
  versions: Pick<WorkerVersions, 'list'>,
  buildId: string,
  logger: Pick<Logger, 'warn'>,
): void {
  versions.list().then(
    ({ current }) => {
      if (current === buildId) return;
      const message = `workflows do not come to this build until it is current: countersign worker-version current ${buildId}`;
      logger.warn({ event: 'worker_version.not_current', build_id: buildId, current }, message);
    },
    () => undefined,
  );
}

/** @returns undefined for an object that Temporal does not know (yet) */
async function unlessMissing<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (isGrpcServiceError(error) && error.code === NOT_FOUND) return undefined;
    throw error;
  }
}

const unavailable = (detail: string, cause?: unknown) =>
  new ServiceError('temporarily_unavailable', { detail, cause });

function asUnavailable(error: unknown): unknown {
  return isGrpcServiceError(error) ? unavailable(`Temporal: ${error.details}`, error) : error;
}

async function answered<T>(asked: Promise<T>): Promise<T> {
  try {
    return await asked;
  } catch (error) {
    throw asUnavailable(error);
  }
}

function statusName(status: temporal.api.enums.v1.WorkerDeploymentVersionStatus | null | undefined): string {
  const names = proto.temporal.api.enums.v1.WorkerDeploymentVersionStatus;
  return (names[Number(status ?? 0)] ?? '').replace('WORKER_DEPLOYMENT_VERSION_STATUS_', '').toLowerCase();
}
