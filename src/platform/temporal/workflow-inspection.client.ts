// Reads from Temporal which workflows run. Its list is some moments old, so a difference must be confirmed by a query
// for that one workflow.
import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import { readPollingBuilds, type TaskKind } from './poller.client.ts';

/** Milliseconds that one call to Temporal may take. */
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
     * The ids of the running workflows of a type, from Temporal's list, a page at a time.
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

    /** Whether the workflow runs now; not from the list. */
    isRunning: async (workflowId: string): Promise<boolean> => {
      try {
        const { status } = await within(() => client.workflow.getHandle(workflowId).describe());
        return status.name === 'RUNNING';
      } catch (error) {
        if (error instanceof WorkflowNotFoundError) return false;
        throw error;
      }
    },

    /** Signals a workflow. @returns false when none runs */
    signal: async (workflowId: string, name: string): Promise<boolean> => {
      try {
        await within(() => client.workflow.getHandle(workflowId).signal(name));
        return true;
      } catch (error) {
        if (error instanceof WorkflowNotFoundError) return false;
        throw error;
      }
    },

    /** Terminates a workflow immediately; it runs no further code. @returns false when none runs */
    terminate: async (workflowId: string, reason: string): Promise<boolean> => {
      try {
        await within(() => client.workflow.getHandle(workflowId).terminate(reason));
        return true;
      } catch (error) {
        if (error instanceof WorkflowNotFoundError) return false;
        throw error;
      }
    },

    /** As `readPollingBuilds`. */
    listPollingBuilds: (taskQueue: string, kind: TaskKind): Promise<ReadonlySet<string>> =>
      within(() =>
        readPollingBuilds(client.workflowService, { namespace: client.options.namespace, taskQueue, kind }),
      ),
  };
}

export type WorkflowInspector = ReturnType<typeof createWorkflowInspector>;
