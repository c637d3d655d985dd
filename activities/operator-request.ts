// What an operator requested of a workflow: who it was, and a refusal that Temporal does not retry.
import { ApplicationFailure, Context } from '@temporalio/activity';
import type { OperatorRequest } from '../src/audit/audit.ts';
import { ServiceError } from '../src/platform/errors/service-error.ts';
import { identityOf } from '../src/platform/temporal/requester.ts';

/**
 * Performs what an operator requested by an update, a signal or a cancellation.
 * @throws ApplicationFailure with the code of a ServiceError, which Temporal does not retry; other errors unchanged
 */
export async function forOperator<Result>(
  reason: string | null,
  perform: (request: OperatorRequest) => Promise<Result>,
): Promise<Result> {
  try {
    return await perform({ by: await findRequester(), reason: reason ?? undefined });
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code === 'temporarily_unavailable') throw error;
    throw ApplicationFailure.nonRetryable(error.message, error.code);
  }
}

async function findRequester(): Promise<string | undefined> {
  const { client, info } = Context.current();
  if (info.workflowExecution === undefined) return undefined;
  const { workflowId, runId } = info.workflowExecution;
  const { events } = await client.workflow.getHandle(workflowId, runId).fetchHistory();
  return identityOf(events ?? [], info.activityId);
}
