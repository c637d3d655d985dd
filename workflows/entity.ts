// What the workflows of entities have in common: how they are told, how long a history may get, how their activities are tried. It must
// hold nothing that adds to a history.
import { CancellationScope, defineSignal, setCurrentDetails, workflowInfo } from '@temporalio/workflow';
import { ENTITY_CHANGED, type EntityInput } from '../src/platform/temporal/names.ts';

/** Something about the entity has changed: look again. */
export const changed = defineSignal(ENTITY_CHANGED);

/** Each activity is one use case in Postgres, which is tried until it succeeds. */
export const ENTITY_ACTIVITIES = {
  startToCloseTimeout: '20s',
  retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '30s' },
} as const;

/** Events; a longer history is begun anew, before it has 1,000: what is under way when it is looked at adds some still. */
const LONGEST_HISTORY = 900;
const LONGEST_REASON = 500;

/** Whether the workflow should be continued as new before it goes on. */
export function isHistoryLong(): boolean {
  const { historyLength, continueAsNewSuggested } = workflowInfo();
  return historyLength >= LONGEST_HISTORY || continueAsNewSuggested;
}

/** Shows an operator how it stands. A history that was begun anew has no static summary any more: there that stands before the text. */
export function showDetails({ summary }: EntityInput, text: string): void {
  const isFirst = workflowInfo().continuedFromExecutionRunId === undefined;
  setCurrentDetails(isFirst || summary === undefined ? text : `${summary}: ${text}`);
}

/** Calls back when Temporal is asked to cancel this workflow, which changes nothing else (`cancellation.interceptors.ts`). */
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
