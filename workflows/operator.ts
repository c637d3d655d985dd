// The texts that a workflow shows to operators, and their requests: cancellations and reasons of updates.
import { CancellationScope, getCurrentDetails, setCurrentDetails, workflowInfo } from '@temporalio/workflow';
import type { EntityInput } from '../src/platform/temporal/names.ts';

const IGNORED =
  'Cancellation was requested, and ends nothing: this workflow looks after what is in the database. An operator acts by its updates.';
const DAY = 86_400_000;
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

/**
 * Words a time for a summary, in UTC: `07:48:44`, with the date where it is another day.
 * @param time milliseconds since 1970, or ISO 8601
 */
export function wordTime(time: number | string): string {
  const moment = new Date(time);
  const text = moment.toISOString();
  const isToday = Math.floor(moment.getTime() / DAY) === Math.floor(Date.now() / DAY);
  return isToday ? text.slice(11, 19) : `${text.slice(0, 10)} ${text.slice(11, 16)}`;
}

/** The last line of the details, in Markdown: the updates, each with what it does, and the page in docs/operations. */
export function wordHelp(updates: Readonly<Record<string, string>>, page: string): string {
  const acts = Object.entries(updates).map(([name, does]) => `Update \`${name}\` ${does}`);
  return [...acts, `Page: docs/operations/${page}.md`].join(' · ');
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
