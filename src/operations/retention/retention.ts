// How long each kind of data is kept, and the report of a retention run.

/** Days that events, deliveries and their attempts are kept, ended or not. Source: Specification, "Delivery". */
export const KEPT_DAYS = 30;

/** Days that the accounts of deliveries are kept: a year and a month. */
export const ACCOUNT_DAYS = 400;

/** The result of one call of a step. `more`: its time ended before its work. */
export type StepResult = { readonly count: number; readonly more: boolean };

/** The result of a run, by the name of the step: rows or partitions deleted, created or counted. */
export type RetentionReport = Readonly<Record<string, number>>;

/** The report for an operator: a line for each step that did something. */
export function describeReport(report: RetentionReport, failed: readonly string[]): string {
  const lines = Object.entries(report)
    .filter(([, count]) => count > 0)
    .map(([step, count]) => `- ${step}: ${count}`);
  const what = lines.length === 0 ? 'Nothing was due.' : lines.join('\n');
  return failed.length === 0
    ? what
    : `${what}\n\nFailed, and tried again by the next run: ${failed.join(', ')}.`;
}
