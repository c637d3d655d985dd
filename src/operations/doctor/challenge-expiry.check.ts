// Looks whether the sweep of challenges is behind. Nobody needs it to refuse a challenge in time; the audit log learns of them by it.
import type { Check } from './finding.ts';

/** @param options.findOverdue when the oldest challenge ended that should have been swept minutes ago; null when there is none */
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
