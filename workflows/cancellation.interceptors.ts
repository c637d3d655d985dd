// Ignores Temporal's cancellation, which would end a workflow but leave its entity unfinished in Postgres. Workflows
// that can cancel their entity receive the request by `onCancelRequest`. This interceptor adds nothing to a history.
import {
  CancellationScope,
  type WorkflowInboundCallsInterceptor,
  type WorkflowInterceptors,
  workflowInfo,
} from '@temporalio/workflow';
import { RETENTION_WORKFLOW, WORKFLOW_TYPES } from '../src/platform/temporal/names.ts';
import { onCancelRequest, showIgnoredCancellation } from './operator.ts';

/** All types except retention, because the next run of retention does the work of a canceled run. */
const SHIELDED: readonly string[] = WORKFLOW_TYPES.filter((type) => type !== RETENTION_WORKFLOW);

export const interceptors = (): WorkflowInterceptors =>
  SHIELDED.includes(workflowInfo().workflowType) ? { inbound: [SHIELD] } : {};

const SHIELD: WorkflowInboundCallsInterceptor = {
  execute: (input, next) =>
    CancellationScope.nonCancellable(() => {
      onCancelRequest(showIgnoredCancellation);
      return next(input);
    }),
  handleSignal: (input, next) => CancellationScope.nonCancellable(() => next(input)),
  handleUpdate: (input, next) => CancellationScope.nonCancellable(() => next(input)),
};
