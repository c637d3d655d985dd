// Ignores Temporal's cancellation, which would end a workflow but not the work of its row. A workflow that can cancel
// its row receives the request (`onCancelRequest`). Adds nothing to a history.
import {
  CancellationScope,
  type WorkflowInboundCallsInterceptor,
  type WorkflowInterceptors,
  workflowInfo,
} from '@temporalio/workflow';
import { RETENTION_WORKFLOW, WORKFLOW_TYPES } from '../src/platform/temporal/names.ts';
import { onCancelRequest, showIgnoredCancellation } from './operator.ts';

/** All types except retention: its next run does the work of a canceled one. */
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
