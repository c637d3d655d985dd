// Checks whether the sweep of challenges is late. The service refuses overdue challenges in any case; the sweep writes
// their audit entries.
import type { Check } from './finding.ts';

/** @param options.findOverdue returns the end of the oldest challenge that is late for the sweep, or null */
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
