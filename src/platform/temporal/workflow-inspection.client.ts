// Reads from Temporal which workflows run. Its list may be a few seconds old, so a difference must be confirmed by a
// query for the single workflow.
import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import { readPollingBuilds, type TaskKind } from './poller.client.ts';

const CALL_TIMEOUT = 10_000;
const PAGE = 1_000;

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

    listPollingBuilds: (taskQueue: string, kind: TaskKind): Promise<ReadonlySet<string>> =>
      within(() =>
        readPollingBuilds(client.workflowService, { namespace: client.options.namespace, taskQueue, kind }),
      ),
  };
}

export type WorkflowInspector = ReturnType<typeof createWorkflowInspector>;
