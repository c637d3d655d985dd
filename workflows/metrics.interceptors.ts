// Counts workflows that begin and end, and measures how late timers fire, in the worker's metrics. Promises pass
// through unchanged, so this file changes no history and no order of commands.
import {
  ContinueAsNew,
  isCancellation,
  proxySinks,
  type Sinks,
  TemporalFailure,
  type WorkflowInterceptors,
  workflowInfo,
} from '@temporalio/workflow';

/** Calls to the worker. `outcome` is one word of the result. `lagMs` is how late the work after a timer began. */
export interface WorkflowMetricSinks extends Sinks {
  workflowMetrics: {
    started(): void;
    ended(outcome: string): void;
    timerFired(lagMs: number): void;
  };
}

const { workflowMetrics } = proxySinks<WorkflowMetricSinks>();

/** The members of results that hold an outcome, the most precise first. */
const OUTCOME_FIELDS = ['status', 'state', 'rotation', 'key', 'secrets'] as const;
const WORD = /^[a-z_]{1,40}$/;

export const interceptors = (): WorkflowInterceptors => ({
  inbound: [
    {
      execute: (input, next) => {
        count(() => {
          if (workflowInfo().continuedFromExecutionRunId === undefined) workflowMetrics.started();
        });
        const run = next(input);
        run.then(
          (result) => count(() => workflowMetrics.ended(outcomeOf(result))),
          (error: unknown) => count(() => workflowMetrics.ended(failureOf(error))),
        );
        return run;
      },
    },
  ],
  outbound: [
    {
      startTimer: (input, next) => {
        const due = Date.now() + input.durationMs;
        const timer = next(input);
        timer.then(
          () => count(() => workflowMetrics.timerFired(Math.max(0, Date.now() - due))),
          () => undefined,
        );
        return timer;
      },
    },
  ],
});

/** Calls the metrics, except in a replay, because the original run has already counted the event. */
function count(call: () => void): void {
  if (!workflowInfo().unsafe.isReplaying) call();
}

function outcomeOf(result: unknown): string {
  const fields = (typeof result === 'object' && result !== null ? result : {}) as Record<string, unknown>;
  const word = OUTCOME_FIELDS.map((field) => fields[field]).find((value) => typeof value === 'string');
  return typeof word === 'string' && WORD.test(word) ? word : 'completed';
}

/** @returns the outcome of an error. An error that is not Temporal's fails the workflow task, which is retried. */
function failureOf(error: unknown): string {
  if (error instanceof ContinueAsNew) return 'continued_as_new';
  if (isCancellation(error)) return 'canceled';
  return error instanceof TemporalFailure ? 'failed' : 'task_failed';
}
