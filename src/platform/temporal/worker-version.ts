// Versions of the workers in Temporal's worker deployments. Only an operator changes which version receives work, by
// Temporal's own program, because otherwise the restart of an old worker would redirect all work to it.
import { type Connection, isGrpcServiceError } from '@temporalio/client';
import type { NativeConnection } from '@temporalio/worker';
import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import { ServiceError } from '../errors/service-error.ts';
import { WORKER_DEPLOYMENT } from './names.ts';

export type WorkerVersion = { readonly deploymentName: string; readonly buildId: string };

/** The gRPC status of an object that Temporal does not know (yet). */
const NOT_FOUND = 5;

/** @returns the version of this worker process; undefined when versions are not used */
export function workerVersionOf({
  workerBuildId: buildId,
}: Pick<Config, 'workerBuildId'>): WorkerVersion | undefined {
  return buildId === undefined ? undefined : { deploymentName: WORKER_DEPLOYMENT, buildId };
}

/**
 * Reads which build receives work.
 * @returns null while workers without a build id receive it
 * @throws ServiceError `temporarily_unavailable` when Temporal does not answer
 */
export async function readCurrentBuild({
  connection,
  namespace,
}: {
  connection: Connection | NativeConnection;
  namespace: string;
}): Promise<string | null> {
  const deployment = { namespace, deploymentName: WORKER_DEPLOYMENT };
  try {
    const { workerDeploymentInfo: info } =
      await connection.workflowService.describeWorkerDeployment(deployment);
    return info?.routingConfig?.currentDeploymentVersion?.buildId || null;
  } catch (error) {
    if (!isGrpcServiceError(error)) throw error;
    if (error.code === NOT_FOUND) return null;
    throw new ServiceError('temporarily_unavailable', { detail: `Temporal: ${error.details}`, cause: error });
  }
}

/** Logs one warning in the background when the version of a new worker does not receive work. */
export function warnUnlessCurrent(
  current: Promise<string | null>,
  buildId: string,
  logger: Pick<Logger, 'warn'>,
): void {
  current.then(
    (found) => {
      if (found === buildId) return;
      const message = `workflows do not come to this build until it is current: temporal worker deployment set-current-version --deployment-name ${WORKER_DEPLOYMENT} --build-id ${buildId}`;
      logger.warn({ event: 'worker_version.not_current', build_id: buildId, current: found }, message);
    },
    () => undefined,
  );
}
