// Removes the workflows of a tenant from Temporal, with their histories: running ones are terminated.
import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, isGrpcServiceError } from '@temporalio/client';
import {
  DELIVERY_WORKFLOW,
  ENTITY_WORKFLOW_TYPES,
  SEARCH_ATTRIBUTES,
} from '../../platform/temporal/names.ts';

const CALL_TIMEOUT = 10_000;
const PAGE = 500;
const NOT_FOUND = 5;

type Execution = { workflowId?: string | null; runId?: string | null };

/** Milliseconds between two looks at Temporal's list, which is a moment behind. */
const PAUSE = 500;

const TENANT = SEARCH_ATTRIBUTES.tenantId.name;

/** Types of workflows that belong to a tenant, but that of its erasure. */
const TYPES = [DELIVERY_WORKFLOW, ...ENTITY_WORKFLOW_TYPES].filter((type) => type !== 'tenantErasure');

/** They were started while the namespace had no search attributes; their input names the tenant. */
const UNMARKED = `${TENANT} IS NULL AND WorkflowType IN (${TYPES.map((type) => `'${type}'`).join(', ')})`;

/** @param options.client of the namespace */
export function createTenantHistories({
  client,
}: {
  client: Pick<Client, 'withDeadline' | 'workflowService' | 'options'>;
}) {
  const { namespace } = client.options;
  const within = <T>(call: () => Promise<T>): Promise<T> =>
    client.withDeadline(Date.now() + CALL_TIMEOUT, call);

  const listPage = async (query: string, nextPageToken: Uint8Array | null = null) => {
    const page = await within(() =>
      client.workflowService.listWorkflowExecutions({ namespace, pageSize: PAGE, query, nextPageToken }),
    );
    return {
      executions: page.executions.flatMap(({ execution }) => (execution ? [execution] : [])),
      next: page.nextPageToken ?? null,
    };
  };
  const listMarked = async (tenantId: string) =>
    (await listPage(`${TENANT} = '${tenantId}' AND WorkflowType != 'tenantErasure'`)).executions;

  /** Reads the first event of a run, which has its input. */
  async function isOf(tenantId: string, execution: Execution): Promise<boolean> {
    const { history } = await within(() =>
      client.workflowService.getWorkflowExecutionHistory({ namespace, execution, maximumPageSize: 1 }),
    ).catch(ignoreMissing);
    const payloads = history?.events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads ?? [];
    return payloads.some(({ data }) => Buffer.from(data ?? []).includes(tenantId));
  }

  async function listUnmarked(tenantId: string, signal: AbortSignal): Promise<Execution[]> {
    const found: Execution[] = [];
    let next: Uint8Array | null = null;
    do {
      const page = await listPage(UNMARKED, next);
      for (const execution of page.executions) {
        signal.throwIfAborted();
        if (await isOf(tenantId, execution)) found.push(execution);
      }
      next = page.next;
    } while ((next?.length ?? 0) > 0);
    return found;
  }

  const remove = (workflowExecution: Execution) =>
    within(() => client.workflowService.deleteWorkflowExecution({ namespace, workflowExecution })).catch(
      ignoreMissing,
    );

  return {
    /**
     * Deletes all runs of all workflows of the tenant, by its search attribute or their input, but the one of its
     * erasure, and waits until Temporal lists none with the attribute.
     * @returns how many runs there were
     * @throws when Temporal does not answer, or has no search attributes
     */
    remove: async (tenantId: string, signal: AbortSignal): Promise<number> => {
      const seen = new Set<string>();
      for (const execution of await listUnmarked(tenantId, signal)) {
        await remove(execution);
        seen.add(`${execution.workflowId} ${execution.runId}`);
      }
      for (;;) {
        const page = await listMarked(tenantId);
        if (page.length === 0) return seen.size;
        for (const workflowExecution of page) {
          signal.throwIfAborted();
          const name = `${workflowExecution.workflowId} ${workflowExecution.runId}`;
          if (seen.has(name)) continue;
          await remove(workflowExecution);
          seen.add(name);
        }
        await sleep(PAUSE, undefined, { signal });
      }
    },
  };
}

function ignoreMissing(error: unknown): { history?: undefined } {
  if (!isGrpcServiceError(error) || error.code !== NOT_FOUND) throw error;
  return {};
}

export type TenantHistories = ReturnType<typeof createTenantHistories>;
