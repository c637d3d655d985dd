// Reads who requested an operator's step from the history of the workflow that performs it.
import type { temporal } from '@temporalio/proto';

type HistoryEvent = temporal.api.history.v1.IHistoryEvent;

const LONGEST_IDENTITY = 128;
const OPERATOR_SIGNAL = /^operator[A-Z]/;

/**
 * Finds who requested the step that an activity performs: the `identity` of the newest update, operator's signal or
 * cancellation before the activity was scheduled. Its sender chooses it, and Temporal's UI without a login gives none.
 * @returns undefined when several identities requested something in the same workflow task, or none did
 */
export function identityOf(events: readonly HistoryEvent[], activityId: string): string | undefined {
  let tasks = 0;
  let newest = { task: 0, identities: new Set<string>() };
  for (const event of events) {
    if (event.activityTaskScheduledEventAttributes?.activityId === activityId) break;
    if (event.workflowTaskCompletedEventAttributes) tasks += 1;
    const update = event.workflowExecutionUpdateAcceptedEventAttributes?.acceptedRequest?.meta;
    const sent = update ?? messageOf(event);
    if (!sent) continue;
    // The task that accepts an update has completed before it in the history; a signal waits for the next one.
    const task = update ? tasks : tasks + 1;
    if (task !== newest.task) newest = { task, identities: new Set() };
    newest.identities.add(sent.identity ?? '');
  }
  const [identity] = newest.identities;
  if (newest.identities.size !== 1 || !identity) return undefined;
  return identity.replaceAll(/\p{C}/gu, '').slice(0, LONGEST_IDENTITY) || undefined;
}

function messageOf(event: HistoryEvent) {
  const signal = event.workflowExecutionSignaledEventAttributes;
  if (signal && OPERATOR_SIGNAL.test(signal.signalName ?? '')) return signal;
  return event.workflowExecutionCancelRequestedEventAttributes;
}
