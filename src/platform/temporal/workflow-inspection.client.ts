// Reads from Temporal which workflows run, and which workers poll. Its list of workflows may be a few seconds old, so a
// difference must be confirmed by a query for the single workflow. A worker is listed for 5 minutes after its end, so
// the time of its last poll is checked as well.
import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import proto, { type temporal } from '@temporalio/proto';
import { WORKER_DEPLOYMENT } from './names.ts';

const CALL_TIMEOUT = 10_000;
const PAGE = 1_000;

/**
 * Milliseconds since the last poll of a live worker: the server ends a poll after a minute, the rest is for the
 * network.
 */
const LIVE_FOR = 75_000;

type TaskKind = 'workflow' | 'activity';

/** @param client of the namespace */
export function createWorkflowInspector({
  client,
}: {
  client: Pick<Client, 'workflow' | 'withDeadline' | 'workflowService' | 'options'>;
}) {
  const within = <T>(call: () => Promise<T>): Promise<T> =>
    client.withDeadline(Date.now() + CALL_TIMEOUT, call);

  return {
    /**
     * Lists the ids of the running workflows of a type, one page at a time.
     * @throws when Temporal does not answer, or keeps no list
     */
    async *listRunning(type: string): AsyncGenerator<string[]> {
      let nextPageToken: Uint8Array | undefined;
      do {
        const token = nextPageToken;
        const page = await within(() =>
          client.workflowService.listWorkflowExecutions({
            namespace: client.options.namespace,
            pageSize: PAGE,
            query: `WorkflowType = '${type}' AND ExecutionStatus = 'Running'`,
            ...(token === undefined ? {} : { nextPageToken: token }),
          }),
        );
        yield page.executions.flatMap(({ execution }) => execution?.workflowId ?? []);
        nextPageToken = page.nextPageToken.length > 0 ? page.nextPageToken : undefined;
      } while (nextPageToken !== undefined);
    },

    /** True when the workflow runs now; does not use the list. */
    isRunning: async (workflowId: string): Promise<boolean> => {
      try {
        const { status } = await within(() => client.workflow.getHandle(workflowId).describe());
        return status.name === 'RUNNING';
      } catch (error) {
        if (error instanceof WorkflowNotFoundError) return false;
        throw error;
      }
    },

    /** Signals a workflow. @returns false when it does not run */
    signal: async (workflowId: string, name: string): Promise<boolean> => {
      try {
        await within(() => client.workflow.getHandle(workflowId).signal(name));
        return true;
      } catch (error) {
        if (error instanceof WorkflowNotFoundError) return false;
        throw error;
      }
    },

    /** Terminates a workflow without running further code of it. @returns false when it does not run */
    terminate: async (workflowId: string, reason: string): Promise<boolean> => {
      try {
        await within(() => client.workflow.getHandle(workflowId).terminate(reason));
        return true;
      } catch (error) {
        if (error instanceof WorkflowNotFoundError) return false;
        throw error;
      }
    },

    /**
     * Lists the builds whose workers polled the queue in the last 75 seconds: build ids, and '' for workers without
     * one. A worker that stopped in that time is included.
     */
    listPollingBuilds: (taskQueue: string, kind: TaskKind): Promise<ReadonlySet<string>> =>
      within(() => readPollingBuilds(client, taskQueue, kind)),
  };
}

export type WorkflowInspector = ReturnType<typeof createWorkflowInspector>;

async function readPollingBuilds(
  { workflowService, options: { namespace } }: Pick<Client, 'workflowService' | 'options'>,
  taskQueue: string,
  kind: TaskKind,
): Promise<Set<string>> {
  const { pollers } = await workflowService.describeTaskQueue({
    namespace,
    taskQueue: { name: taskQueue },
    taskQueueType: kind === 'workflow' ? 1 : 2,
  });
  const { WORKER_VERSIONING_MODE_VERSIONED: versioned } = proto.temporal.api.enums.v1.WorkerVersioningMode;
  const builds = pollers.filter(isLive).flatMap(({ deploymentOptions: options }) => {
    if (options?.workerVersioningMode !== versioned) return [''];
    return options.deploymentName === WORKER_DEPLOYMENT ? [options.buildId ?? ''] : [];
  });
  return new Set(builds);
}

function isLive({ lastAccessTime }: temporal.api.taskqueue.v1.IPollerInfo): boolean {
  return Number(lastAccessTime?.seconds ?? 0) * 1_000 > Date.now() - LIVE_FOR;
}
