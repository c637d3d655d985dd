// Metrics of workflows by type and outcome, as workflows/metrics.interceptors.ts reports them.
import type { InjectedSinks } from '@temporalio/worker';
import { Counter, Histogram, type Registry } from 'prom-client';
import type { WorkflowMetricSinks } from '../../../workflows/metrics.interceptors.ts';

export type { WorkflowMetricSinks } from '../../../workflows/metrics.interceptors.ts';

/** Seconds. */
const LAGS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60, 300, 1_800];

/**
 * @param options.types of workflows whose failure counters start at 0, because Prometheus sees no increase in a series
 *   that starts at 1
 * @returns the sinks for the workflows of a worker
 */
export function createWorkflowMetrics({
  registry,
  types = [],
}: {
  registry: Registry;
  types?: readonly string[] | undefined;
}): InjectedSinks<WorkflowMetricSinks> {
  const registers = [registry];
  const started = new Counter({
    name: 'countersign_workflows_started_total',
    help: 'Workflows that this worker has begun, by type; one continued as new is not counted again.',
    labelNames: ['workflow_type'],
    registers,
  });
  const ended = new Counter({
    name: 'countersign_workflows_ended_total',
    help: 'Runs of workflows that this worker has ended, by type and outcome: what the workflow says of its end, or "failed", "canceled", "continued_as_new"; "task_failed" has not ended and is tried again.',
    labelNames: ['workflow_type', 'outcome'],
    registers,
  });
  const lags = new Histogram({
    name: 'countersign_workflow_timer_lag_seconds',
    help: 'How much later than it was due the work after a durable timer began, by type of workflow.',
    labelNames: ['workflow_type'],
    buckets: LAGS,
    registers,
  });
  for (const workflow_type of types) ended.inc({ workflow_type, outcome: 'failed' }, 0);
  return {
    workflowMetrics: {
      started: { fn: ({ workflowType }) => started.inc({ workflow_type: workflowType }) },
      ended: {
        fn: ({ workflowType }, outcome) => ended.inc({ workflow_type: workflowType, outcome }),
      },
      timerFired: {
        fn: ({ workflowType }, lagMs) => lags.observe({ workflow_type: workflowType }, lagMs / 1_000),
      },
    },
  };
}
