// The spans of activities. It is kept out of the workflows' bundle, where every span would be made again by Temporal's
// replay.
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import type { Tracing } from '../tracing/tracing.ts';
import { DELIVERY_WORKFLOW } from './names.ts';

/**
 * Traces each activity. An attempt of a delivery belongs to the trace that published its event, and has no span if that
 * was not traced; any other activity, which may emit events, begins a trace.
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
