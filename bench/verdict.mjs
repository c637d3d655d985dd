// Whether a token and a delivery cost what they may, as ratios to their floors. Pure.

/** Ratios of CPU that may not be exceeded. What makes one smaller lowers it here too. */
export const MOST = { token: 2, delivery: 2.2 };

/**
 * Three tries of at most five decide: one alone may have met a moment when the machine was busy with something else.
 */
export const TRIES_THAT_DECIDE = 3;

export const holds = ({ ratios, most }) =>
  ratios.filter((ratio) => ratio <= most).length >= TRIES_THAT_DECIDE;

export const isDecided = (one) =>
  holds(one) || one.ratios.filter((ratio) => ratio > one.most).length >= TRIES_THAT_DECIDE;

/** @returns the figures as Vitest reports a case, so that `scripts/count.mjs` counts the guard as one */
export function reportGuard(figures) {
  const status = Object.values(figures).every(holds) ? 'passed' : 'failed';
  const failureMessages = status === 'passed' ? [] : [`ratio to the floor: ${JSON.stringify(figures)}`];
  const title = 'a token and a delivery cost no more CPU than they may';
  const result = { ancestorTitles: [], title, status, failureMessages };
  return { testResults: [{ name: 'bench guard', status, message: '', assertionResults: [result] }] };
}
