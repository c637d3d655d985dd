// Removes the workflows of a tenant from Temporal, with their histories: running ones are terminated.
import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, isGrpcServiceError } from '@temporalio/client';
import { SEARCH_ATTRIBUTES } from '../../platform/temporal/names.ts';

const CALL_TIMEOUT = 10_000;
const PAGE = 500;
const NOT_FOUND = 5;

/** Milliseconds between two looks at Temporal's list, which is a moment behind. */
const PAUSE = 500;

/** @param options.client of the namespace */
export function createTenantHistories({
  client,
}: {
  client: Pick<Client, 'withDeadline' | 'workflowService' | 'options'>;
}) {
  const { namespace } = client.options;
  const within = <T>(call: () => Promise<T>): Promise<T> =>
    client.withDeadline(Date.now() + CALL_TIMEOUT, call);

  const listPage = async (tenantId: string) => {
    const query = `${SEARCH_ATTRIBUTES.tenantId.name} = '${tenantId}' AND WorkflowType != 'tenantErasure'`;
    const { executions } = await within(() =>
      client.workflowService.listWorkflowExecutions({ namespace, pageSize: PAGE, query }),
    );
    return executions.flatMap(({ execution }) => (execution ? [execution] : []));
  };

  return {
    /**
     * Deletes all runs of all workflows that have the tenant's search attribute, but the one of its erasure, and waits
     * until Temporal lists none.
     * @returns how many runs there were
     * @throws when Temporal does not answer, or has no search attributes
     */
    remove: async (tenantId: string, signal: AbortSignal): Promise<number> => {
      const seen = new Set<string>();
      for (;;) {
        const page = await listPage(tenantId);
        if (page.length === 0) return seen.size;
        for (const workflowExecution of page) {
          signal.throwIfAborted();
          const name = `${workflowExecution.workflowId} ${workflowExecution.runId}`;
          if (seen.has(name)) continue;
          await within(() =>
            client.workflowService.deleteWorkflowExecution({ namespace, workflowExecution }),
          ).catch((error: unknown) => {
            if (!isGrpcServiceError(error) || error.code !== NOT_FOUND) throw error;
          });
          seen.add(name);
        }
        await sleep(PAUSE, undefined, { signal });
      }
    },
  };
}

export type TenantHistories = ReturnType<typeof createTenantHistories>;
