// retention runs its steps in order, once. Each step decides by the database's clock which rows are too old, so the
// next run also does the work of a missed or ended run.
import {
  ApplicationFailure,
  ContinueAsNew,
  continueAsNew,
  defineQuery,
  isCancellation,
  proxyActivities,
  setCurrentDetails,
  setHandler,
} from '@temporalio/workflow';
import type { RetentionActivities } from '../activities/retention.ts';
import {
  describeReport,
  type RetentionReport,
  type StepResult,
} from '../src/operations/retention/retention.ts';
import { isHistoryLong } from './entity.ts';

export type RetentionState = {
  readonly doing: string;
  readonly report: RetentionReport;
  readonly failed: readonly string[];
};

/**
 * The progress that a continued run takes over. `calls` counts the calls of the step that was under way, and `place` is
 * where the last one stopped.
 */
type Progress = RetentionState & { readonly calls: number; readonly place?: string | undefined };

type Call = (summary: string, place: string | undefined) => Promise<StepResult>;

const state = defineQuery<RetentionState>('state');

/** The most calls of one step in a run; a call takes about a minute. The next run continues the step. */
const MOST_CALLS = 30;

const HELP =
  '*Request Cancellation* ends this run; the next one does the rest · Page: docs/operations/retention.md';

const activities = proxyActivities<RetentionActivities>({
  startToCloseTimeout: '30m',
  heartbeatTimeout: '30s',
  // A step that fails is tried again by the next run, a quarter of an hour later.
  retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '30s', maximumAttempts: 5 },
});

/**
 * Creates the partitions of the next days, cancels deliveries that are too old, counts the delivery accounts, and
 * deletes rows past their retention. Source: Specification, "Delivery" and "Retention".
 * @param before the progress so far, when the workflow continued as new
 * @returns the number of rows or partitions of each step
 * @throws when a step failed; the other steps were done
 */
export async function retention(before?: Progress): Promise<RetentionReport> {
  const report: Record<string, number> = { ...before?.report };
  const failed: string[] = [...(before?.failed ?? [])];
  let doing = 'beginning';
  let resumed = before === undefined;
  setHandler(state, () => ({ doing, report, failed }));

  const perform = async (step: string, call: Call): Promise<void> => {
    if (!resumed && step !== before?.doing) return;
    let calls = resumed ? 0 : (before?.calls ?? 0);
    let place = resumed ? undefined : before?.place;
    resumed = true;
    doing = step;
    setCurrentDetails(`**Under way**: ${step}.\n\n${describeReport(report, failed)}\n\n${HELP}`);
    try {
      for (let more = true; more && calls < MOST_CALLS; calls += 1) {
        if (isHistoryLong()) await continueAsNew<typeof retention>({ doing, calls, place, report, failed });
        const result = await call(step, place);
        report[step] = (report[step] ?? 0) + result.count;
        ({ more, place } = result);
      }
    } catch (error) {
      if (isCancellation(error) || error instanceof ContinueAsNew) throw error;
      failed.push(step);
    }
  };

  await perform('partitions made', (summary) =>
    activities.makePartitions.executeWithOptions({ summary }, []),
  );
  await perform('deliveries expired', (summary) =>
    activities.expireDeliveries.executeWithOptions({ summary }, []),
  );
  await perform('days accounted for', (summary) =>
    activities.countAccounts.executeWithOptions({ summary }, []),
  );
  await perform('partitions dropped', (summary) =>
    activities.dropPartitions.executeWithOptions({ summary }, []),
  );
  for (const name of await activities.listPurges.executeWithOptions(
    { summary: 'what there is to remove' },
    [],
  ))
    await perform(name, (summary, place) =>
      activities.purge.executeWithOptions({ summary }, place === undefined ? [name] : [name, place]),
    );

  doing = 'ended';
  setCurrentDetails(describeReport(report, failed));
  if (failed.length > 0)
    throw ApplicationFailure.nonRetryable(`not done: ${failed.join(', ')}`, 'RetentionIncomplete', report);
  return report;
}
