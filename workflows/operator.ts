// The texts that a workflow shows to operators, and their requests: cancellations and reasons of updates.
import { CancellationScope, getCurrentDetails, setCurrentDetails, workflowInfo } from '@temporalio/workflow';
import type { EntityInput } from '../src/platform/temporal/names.ts';

const IGNORED =
  'Cancellation was requested, and ends nothing: this workflow looks after what is in the database. An operator acts by its updates.';
const LONGEST_REASON = 500;

/** Shows a text to operators. A notice of an ignored cancellation stays before it. */
export function setDetails(text: string): void {
  setCurrentDetails(getCurrentDetails().startsWith(IGNORED) ? `${IGNORED}\n\n${text}` : text);
}

/** Shows the entity's state to operators. A workflow that continued as new has lost its summary, so it is added. */
export function showDetails({ summary }: EntityInput, text: string): void {
  const isFirst = workflowInfo().continuedFromExecutionRunId === undefined;
  setDetails(isFirst || summary === undefined ? text : `${summary}: ${text}`);
}

export function showIgnoredCancellation(): void {
  setCurrentDetails(`${IGNORED}\n\n${getCurrentDetails()}`);
}

/** Calls `callback` when Temporal is asked to cancel this workflow. The workflow itself continues. */
export function onCancelRequest(callback: () => unknown): void {
  CancellationScope.current().cancelRequested.catch(callback);
}

/** Checks the reason of an operator's update. @throws Error, which refuses the update */
export function checkReason(reason?: unknown): void {
  if (reason === undefined) return;
  if (typeof reason !== 'string' || reason.length > LONGEST_REASON || /\p{C}/u.test(reason))
    throw new Error(
      `The reason must be a text of at most ${LONGEST_REASON} characters, without control characters.`,
    );
}
