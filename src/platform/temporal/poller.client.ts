// Reads which workers ask a task queue for tasks. Temporal lists a worker for 5 minutes after it is gone: whoever decides by it must look at when it asked.
import type { Connection } from '@temporalio/client';
import proto, { type temporal } from '@temporalio/proto';
import type { NativeConnection } from '@temporalio/worker';
import { type TaskQueues, WORKER_DEPLOYMENT } from './names.ts';

/** A worker asks again at the latest when a minute is over: the server lets no question wait for longer. Milliseconds, with some for the way. */
const LIVE_FOR = 75_000;

export type TaskKind = 'workflow' | 'activity';

/** What workers must ask for so that everything is done. */
export const neededPolls = ({
  main,
  attempts,
  slow,
}: TaskQueues): readonly (readonly [string, TaskKind])[] => [
  [main, 'workflow'],
  [main, 'activity'],
  [attempts, 'activity'],
  [slow, 'activity'],
];

/**
 * The builds whose workers have asked the queue for tasks within the last 75 seconds: build ids of the deployment, '' for workers without one.
 * One that stopped since then is among them. @throws a gRPC error when Temporal does not answer
 */
export async function readPollingBuilds(
  service: (Connection | NativeConnection)['workflowService'],
  {
    namespace,
    taskQueue,
    kind,
    deploymentName = WORKER_DEPLOYMENT,
  }: { namespace: string; taskQueue: string; kind: TaskKind; deploymentName?: string | undefined },
): Promise<Set<string>> {
  const { pollers } = await service.describeTaskQueue({
    namespace,
    taskQueue: { name: taskQueue },
    taskQueueType: kind === 'workflow' ? 1 : 2,
  });
  const builds = pollers.filter(isLive).map(buildOf);
  return new Set(builds.flatMap((build) => (build.deploymentName === deploymentName ? build.buildId : [])));

  function buildOf({ deploymentOptions: options }: temporal.api.taskqueue.v1.IPollerInfo) {
    const { WORKER_VERSIONING_MODE_VERSIONED: versioned } = proto.temporal.api.enums.v1.WorkerVersioningMode;
    if (options?.workerVersioningMode !== versioned) return { deploymentName, buildId: '' };
    return { deploymentName: options.deploymentName ?? '', buildId: options.buildId ?? '' };
  }
}

function isLive({ lastAccessTime }: temporal.api.taskqueue.v1.IPollerInfo): boolean {
  return Number(lastAccessTime?.seconds ?? 0) * 1_000 > Date.now() - LIVE_FOR;
}
