// What is kept how long, and what one run of retention says of itself.

/** Days that events, deliveries and their attempts are kept, whether or not they ended. Source: Specification, "Delivery". */
export const KEPT_DAYS = 30;

/** Days that the accounts of deliveries are kept: a year and a month. */
export const ACCOUNT_DAYS = 400;

/** What one call of a step did. `more`: its time was over before its work was. */
export type StepResult = { readonly count: number; readonly more: boolean };

/** What happened, by the name of the step: rows or partitions removed, made or counted. */
export type RetentionReport = Readonly<Record<string, number>>;

/** A report as an operator reads it, a line a step that did something. */
export function describeReport(report: RetentionReport, failed: readonly string[]): string {
  const lines = Object.entries(report)
    .filter(([, count]) => count > 0)
    .map(([step, count]) => `- ${step}: ${count}`);
  const what = lines.length === 0 ? 'Nothing was due.' : lines.join('\n');
  return failed.length === 0
    ? what
    : `${what}\n\nFailed, and tried again by the next run: ${failed.join(', ')}.`;
}
