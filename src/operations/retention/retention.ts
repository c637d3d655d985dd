// How long each kind of data is kept, and the report of a retention run.

/** Days for which the daily accounts of deliveries are kept: a year and a month. */
export const ACCOUNT_DAYS = 400;

/**
 * The result of one call of a step. `more`: the time of the call ended before the work was complete. `place`: what the
 * next call goes on after, for steps that go from tenant to tenant.
 */
export type StepResult = {
  readonly count: number;
  readonly more: boolean;
  readonly place?: string | undefined;
};

/** By the name of a step: the number of rows or partitions deleted, created or counted. */
export type RetentionReport = Readonly<Record<string, number>>;

/** The report for an operator: one line for each step that did something. */
export function describeReport(report: RetentionReport, failed: readonly string[]): string {
  const lines = Object.entries(report)
    .filter(([, count]) => count > 0)
    .map(([step, count]) => `- ${step}: ${count}`);
  const what = lines.length === 0 ? 'Nothing was due.' : lines.join('\n');
  return failed.length === 0
    ? what
    : `${what}\n\nFailed, and tried again by the next run: ${failed.join(', ')}.`;
}
