// Counts the beginnings and ends of workflows, and how late their timers are, in the worker's metrics. Promises pass
// through unchanged, so no history and no order of commands depends on this file.
import {
  ContinueAsNew,
  isCancellation,
  proxySinks,
  type Sinks,
  TemporalFailure,
  type WorkflowInterceptors,
  workflowInfo,
} from '@temporalio/workflow';

/** The calls that a worker receives. `outcome`: one word of the result; `lagMs`: how late the work of a timer began. */
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

/** Calls the metrics, but not in a replay: they counted the event when it happened. */
function count(call: () => void): void {
  if (!workflowInfo().unsafe.isReplaying) call();
}

function outcomeOf(result: unknown): string {
  const fields = (typeof result === 'object' && result !== null ? result : {}) as Record<string, unknown>;
  const word = OUTCOME_FIELDS.map((field) => fields[field]).find((value) => typeof value === 'string');
  return typeof word === 'string' && WORD.test(word) ? word : 'completed';
}

/** The word for an error. One that is not Temporal's does not end a workflow: its task is tried again. */
function failureOf(error: unknown): string {
  if (error instanceof ContinueAsNew) return 'continued_as_new';
  if (isCancellation(error)) return 'canceled';
  return error instanceof TemporalFailure ? 'failed' : 'task_failed';
}
