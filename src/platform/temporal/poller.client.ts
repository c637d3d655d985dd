// Reads which workers poll a task queue. Temporal lists a worker for 5 minutes after its end, so the time of its last
// poll is checked as well.
import type { Connection } from '@temporalio/client';
import proto, { type temporal } from '@temporalio/proto';
import type { NativeConnection } from '@temporalio/worker';
import { type TaskQueues, WORKER_DEPLOYMENT } from './names.ts';

/**
 * Milliseconds since the last poll of a live worker: the server ends a poll after a minute, the rest is for the
 * network.
 */
const LIVE_FOR = 75_000;

export type TaskKind = 'workflow' | 'activity';

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
 * Lists the builds whose workers polled the queue in the last 75 seconds: build ids, and '' for workers without one. A
 * worker that stopped in that time is included.
 * @throws a gRPC error when Temporal does not answer
 */
export async function readPollingBuilds(
  service: (Connection | NativeConnection)['workflowService'],
  { namespace, taskQueue, kind }: { namespace: string; taskQueue: string; kind: TaskKind },
): Promise<Set<string>> {
  const { pollers } = await service.describeTaskQueue({
    namespace,
    taskQueue: { name: taskQueue },
    taskQueueType: kind === 'workflow' ? 1 : 2,
  });
  const builds = pollers.filter(isLive).map(buildOf);
  return new Set(
    builds.flatMap((build) => (build.deploymentName === WORKER_DEPLOYMENT ? build.buildId : [])),
  );

  function buildOf({ deploymentOptions: options }: temporal.api.taskqueue.v1.IPollerInfo) {
    const { WORKER_VERSIONING_MODE_VERSIONED: versioned } = proto.temporal.api.enums.v1.WorkerVersioningMode;
    if (options?.workerVersioningMode !== versioned)
      return { deploymentName: WORKER_DEPLOYMENT, buildId: '' };
    return { deploymentName: options.deploymentName ?? '', buildId: options.buildId ?? '' };
  }
}

function isLive({ lastAccessTime }: temporal.api.taskqueue.v1.IPollerInfo): boolean {
  return Number(lastAccessTime?.seconds ?? 0) * 1_000 > Date.now() - LIVE_FOR;
}
