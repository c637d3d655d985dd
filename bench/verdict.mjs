// Whether a token and a delivery cost what they may, as ratios to their floors. Pure.

/** Ratios of CPU that may not be exceeded. What makes one smaller lowers it here too. */
export const MOST = { token: 2.6, delivery: 2.9 };

/** The least of the tries counts: what disturbs a try makes it dearer. */
export const holds = ({ ratios, most }) => Math.min(...ratios) <= most;

/** @returns the figures as Vitest reports a case, so that `scripts/count.mjs` counts the guard as one */
export function reportGuard(figures) {
  const status = Object.values(figures).every(holds) ? 'passed' : 'failed';
  const failureMessages = status === 'passed' ? [] : [`ratio to the floor: ${JSON.stringify(figures)}`];
  const title = 'a token and a delivery cost no more CPU than they may';
  const result = { ancestorTitles: [], title, status, failureMessages };
  return { testResults: [{ name: 'bench guard', status, message: '', assertionResults: [result] }] };
}
