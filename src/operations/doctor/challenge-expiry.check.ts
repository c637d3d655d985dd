// Checks whether the sweep of challenges is late. Overdue challenges are refused without it; it writes their audit
// entries.
import type { Check } from './finding.ts';

/** @param options.findOverdue the end of the oldest challenge that is late for the sweep; null when there is none */
export function createChallengeExpiryCheck({
  findOverdue,
}: {
  findOverdue: () => Promise<Date | null>;
}): Check {
  return {
    name: 'challengeExpiry',
    title: 'challenges that ended unused',
    examine: async ({ found, looked }) => {
      const oldest = await findOverdue();
      looked(1);
      if (oldest === null) return;
      const detail = `nobody has swept what ended at ${oldest.toISOString()} and later; the next minute's challenge-expiry/… does: does a worker run?`;
      await found({ code: 'sweep_behind', subject: 'challenges', detail });
    },
  };
}
