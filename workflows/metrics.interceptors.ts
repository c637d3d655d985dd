// Tells the worker's metrics what every workflow does. It must add nothing to a history, and come between no workflow and what it waits for:
// promises are passed on as they are.
import {
  ContinueAsNew,
  isCancellation,
  proxySinks,
  type Sinks,
  TemporalFailure,
  type WorkflowInterceptors,
  workflowInfo,
} from '@temporalio/workflow';

/** What a worker hears. `outcome` is a word of the workflow's own; `lagMs`: how late a timer's work began. */
export interface WorkflowMetricSinks extends Sinks {
  workflowMetrics: {
    started(): void;
    ended(outcome: string): void;
    timerFired(lagMs: number): void;
  };
}

const { workflowMetrics } = proxySinks<WorkflowMetricSinks>();

/** Where results say how it ended, the most telling first. */
const OUTCOME_FIELDS = ['status', 'state', 'rotation', 'key', 'secrets'] as const;
const WORD = /^[a-z_]{1,40}$/;

export const interceptors = (): WorkflowInterceptors => ({
  inbound: [
    {
      execute: (input, next) => {
        tell(() => {
          if (workflowInfo().continuedFromExecutionRunId === undefined) workflowMetrics.started();
        });
        const run = next(input);
        run.then(
          (result) => tell(() => workflowMetrics.ended(outcomeOf(result))),
          (error: unknown) => tell(() => workflowMetrics.ended(failureOf(error))),
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
          () => tell(() => workflowMetrics.timerFired(Math.max(0, Date.now() - due))),
          () => undefined,
        );
        return timer;
      },
    },
  ],
});

/** What is replayed was told when it happened. */
function tell(call: () => void): void {
  if (!workflowInfo().unsafe.isReplaying) call();
}

function outcomeOf(result: unknown): string {
  const fields = (typeof result === 'object' && result !== null ? result : {}) as Record<string, unknown>;
  const word = OUTCOME_FIELDS.map((field) => fields[field]).find((value) => typeof value === 'string');
  return typeof word === 'string' && WORD.test(word) ? word : 'completed';
}

/** An error that is none of Temporal's does not end a workflow: its task is tried again. */
function failureOf(error: unknown): string {
  if (error instanceof ContinueAsNew) return 'continued_as_new';
  if (isCancellation(error)) return 'canceled';
  return error instanceof TemporalFailure ? 'failed' : 'task_failed';
}
