// Keeps Temporal's cancellation from ending a workflow: the row that it looks after would go on without it. A workflow
// that can cancel its row receives the request (`onCancelRequest`). Adds nothing to a history.
import {
  CancellationScope,
  type WorkflowInboundCallsInterceptor,
  type WorkflowInterceptors,
  workflowInfo,
} from '@temporalio/workflow';
import { RETENTION_WORKFLOW, WORKFLOW_TYPES } from '../src/platform/temporal/names.ts';
import { onCancelRequest, showIgnoredCancellation } from './operator.ts';

/** Without retention: its next run makes up for one that was canceled. */
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
