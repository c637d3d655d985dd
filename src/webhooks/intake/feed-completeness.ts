// Until when the feed is complete: judged by what statements have seen of the database's transactions. Pure.

/**
 * What a statement saw: every transaction below `horizon` had ended, and none from `newest` on. It began at the time
 * `at` (milliseconds since 1970, by the database's clock), before its snapshot was taken.
 */
export type SeenTransactions = { readonly horizon: bigint; readonly newest: bigint; readonly at: number };

type Fact = Pick<SeenTransactions, 'newest' | 'at'>;

/** The most facts that are remembered. */
const MOST_FACTS = 256;

/**
 * Remembers what statements have seen. Each is a fact that stays true: what had committed by `at` has a number below
 * `newest`. Once all transactions below a horizon have ended, the feed, which ends there, has all of it.
 */
export function createFeedCompleteness() {
  /** Both members ascend. */
  let facts: Fact[] = [];

  return {
    /** Adds what a statement saw. Statements may come in any order. */
    add: ({ horizon, newest, at }: SeenTransactions): void => {
      // Later times may come of a clock that was set back since, higher numbers of a database that was replaced.
      while (isBeyond(facts.at(-1), { newest, at })) facts.pop();
      facts.push({ newest, at });
      if (facts.length <= MOST_FACTS) return;
      const half = facts.slice(MOST_FACTS / 2);
      const isPassed = half[0] !== undefined && half[0].newest <= horizon;
      // A transaction that stays open needs facts of before it: they become fewer, and the answer only earlier.
      facts = isPassed ? half : facts.filter((_, index) => index % 2 === 0);
    },

    /**
     * Returns a time of the database's clock: all that committed before it is of transactions below the horizon.
     * @param horizon of a statement whose own sight was added
     * @returns milliseconds since 1970; undefined while nothing is known of a time before the oldest open transaction
     */
    until: (horizon: bigint): number | undefined => facts.findLast(({ newest }) => newest <= horizon)?.at,
  };
}

export type FeedCompleteness = ReturnType<typeof createFeedCompleteness>;

function isBeyond(fact: Fact | undefined, { newest, at }: Fact): boolean {
  return fact !== undefined && (fact.at >= at || fact.newest >= newest);
}
