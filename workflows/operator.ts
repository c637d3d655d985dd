// The texts of a workflow for operators, and the requests of operators: cancellation, and the reason of an update.
import { CancellationScope, getCurrentDetails, setCurrentDetails, workflowInfo } from '@temporalio/workflow';
import type { EntityInput } from '../src/platform/temporal/names.ts';

const IGNORED =
  'Cancellation was requested, and ends nothing: this workflow looks after what is in the database. An operator acts by its updates.';
const LONGEST_REASON = 500;

/** Shows operators a text, after a cancellation that was ignored. */
export function setDetails(text: string): void {
  setCurrentDetails(getCurrentDetails().startsWith(IGNORED) ? `${IGNORED}\n\n${text}` : text);
}

/**
 * Shows operators how the entity stands. A history that was begun anew has lost its static summary, which then stands
 * before the text.
 */
export function showDetails({ summary }: EntityInput, text: string): void {
  const isFirst = workflowInfo().continuedFromExecutionRunId === undefined;
  setDetails(isFirst || summary === undefined ? text : `${summary}: ${text}`);
}

/** Shows operators that a cancellation was ignored. */
export function showIgnoredCancellation(): void {
  setCurrentDetails(`${IGNORED}\n\n${getCurrentDetails()}`);
}

/**
 * Calls back when Temporal is asked to cancel this workflow, which changes nothing else
 * (`cancellation.interceptors.ts`).
 */
export function onCancelRequest(callback: () => unknown): void {
  CancellationScope.current().cancelRequested.catch(callback);
}

/** Checks the reason that an operator gives with an update. @throws Error, which refuses the update */
export function checkReason(reason?: unknown): void {
  if (reason === undefined) return;
  if (typeof reason !== 'string' || reason.length > LONGEST_REASON || /\p{C}/u.test(reason))
    throw new Error(
      `The reason must be a text of at most ${LONGEST_REASON} characters, without control characters.`,
    );
}
