// The spans of activities. The workflows' bundle must not import this file, because a replay in Temporal would record
// every span again.
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import type { Tracing } from '../tracing/tracing.ts';
import { DELIVERY_WORKFLOW } from './names.ts';

/**
 * Traces each activity. An attempt belongs to the trace in which its event was published, and has no span if that trace
 * was not recorded. Any other activity begins a trace, because it may emit events.
 */
export function traceActivities(tracing: Tracing): ActivityInterceptorsFactory {
  return ({ info }) => {
    const { activityType, attempt, isLocal, workflowExecution, workflowType } = info;
    const attributes = {
      temporalWorkflowId: workflowExecution?.workflowId,
      temporalRunId: workflowExecution?.runId,
      'countersign.activity_attempt': attempt,
      'countersign.local': isLocal,
    };
    const root = workflowType !== DELIVERY_WORKFLOW;
    return {
      inbound: {
        execute: (input, next) => {
          const parent = traceOf(input.args[0]);
          return tracing.span(`RunActivity:${activityType}`, { parent, root, attributes }, () => next(input));
        },
      },
    };
  };
}

function traceOf(argument: unknown): string | undefined {
  const { trace } = (argument ?? {}) as { trace?: unknown };
  return typeof trace === 'string' ? trace : undefined;
}
