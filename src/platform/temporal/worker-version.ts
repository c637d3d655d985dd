// Versions of the workers in Temporal's worker deployments. Only an operator changes which version receives work,
// because otherwise the restart of an old worker would redirect all work to it.
import { setTimeout as sleep } from 'node:timers/promises';
import { type Connection, isGrpcServiceError } from '@temporalio/client';
import proto, { type temporal } from '@temporalio/proto';
import type { NativeConnection } from '@temporalio/worker';
import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import { ServiceError } from '../errors/service-error.ts';
import { TASK_QUEUES, type TaskQueues, WORKER_DEPLOYMENT } from './names.ts';
import { neededPolls, readPollingBuilds } from './poller.client.ts';

export type WorkerVersion = { readonly deploymentName: string; readonly buildId: string };

/**
 * `status`: `inactive` (has never received work), `current`, `ramping`, `draining` (may still have workflows) or
 * `drained`.
 */
type ListedVersion = { readonly buildId: string; readonly status: string };

/** `current`: null while workers without a build id receive the work. */
export type ListedVersions = { readonly current: string | null; readonly versions: readonly ListedVersion[] };

/** gRPC status codes. */
const NOT_FOUND = 5;
const FAILED_PRECONDITION = 9;

const PAUSE = 500;

/** @returns the version of this worker process; undefined when versions are not used */
export function workerVersionOf({
  workerBuildId: buildId,
}: Pick<Config, 'workerBuildId'>): WorkerVersion | undefined {
  return buildId === undefined ? undefined : { deploymentName: WORKER_DEPLOYMENT, buildId };
}

/**
 * @param options.deploymentName the deployment of the builds
 * @param options.taskQueues a build can become current only with workers on each of them
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
   * True when the deployment knows the build and its workers poll for all kinds of work now. The deployment alone does
   * not prove it, because those workers may have ended.
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
     * Lists the builds that Temporal knows, newest first.
     * @throws ServiceError `temporarily_unavailable` when Temporal does not answer
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
     * Makes a build current: it receives new workflows, and running workflows from their next task on. Can be repeated.
     * @param buildId of workers that polled in the last 75 seconds; an empty text means workers without a build id
     * @param options.patience milliseconds to wait for such workers
     * @throws ServiceError `temporarily_unavailable` when a queue has no such worker, or Temporal does not answer
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
          // The workers' queues know the build already, but other parts of Temporal may not yet; the call is repeated.
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

/** Logs one warning in the background when the version of a new worker does not receive work. */
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
