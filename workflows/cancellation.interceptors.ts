// What Temporal's cancellation does: nothing by itself. Each workflow looks after a row that would go on without it, so it must not end
// before its row does; one that can cancel its row receives the request (`onCancelRequest`). Adds nothing to a history.
import {
  CancellationScope,
  getCurrentDetails,
  setCurrentDetails,
  type WorkflowInboundCallsInterceptor,
  type WorkflowInterceptors,
  workflowInfo,
} from '@temporalio/workflow';
import { RETENTION_WORKFLOW, WORKFLOW_TYPES } from '../src/platform/temporal/names.ts';
import { onCancelRequest } from './entity.ts';

/** Of retention the next run goes on where one was canceled. */
const SHIELDED: readonly string[] = WORKFLOW_TYPES.filter((type) => type !== RETENTION_WORKFLOW);

const IGNORED =
  'Cancellation was requested, and ends nothing: this workflow looks after what is in the database. An operator acts by its updates.';

export const interceptors = (): WorkflowInterceptors =>
  SHIELDED.includes(workflowInfo().workflowType) ? { inbound: [SHIELD] } : {};

const SHIELD: WorkflowInboundCallsInterceptor = {
  execute: (input, next) =>
    CancellationScope.nonCancellable(() => {
      onCancelRequest(() => setCurrentDetails(`${IGNORED}\n\n${getCurrentDetails()}`));
      return next(input);
    }),
  handleSignal: (input, next) => CancellationScope.nonCancellable(() => next(input)),
  handleUpdate: (input, next) => CancellationScope.nonCancellable(() => next(input)),
};
