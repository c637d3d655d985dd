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

/** @returns the guard as one case, as `scripts/look.mjs` reads it */
export function reportGuard(figures) {
  if (Object.values(figures).every(holds)) return { passed: 1, failed: [] };
  const name = 'bench guard > a token and a delivery cost no more CPU than they may';
  return { passed: 0, failed: [{ name, errors: [`ratio to the floor: ${JSON.stringify(figures)}`] }] };
}
