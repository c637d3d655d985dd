// The spans of activities. It must never be part of the workflows' bundle: what is traced there would have to be replayed.
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import type { Tracing } from '../tracing/tracing.ts';
import { DELIVERY_WORKFLOW } from './names.ts';

/**
 * Traces each activity: an attempt of a delivery as part of the trace that published it, and not at all where that was not traced; any
 * other one, which may emit events, as the beginning of a trace.
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
