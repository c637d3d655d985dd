// Queries of gauges, shared by concurrent scrapes. A scrape waits for a short time only, the load on the database is
// limited, and a failed query does not affect the others.

type Parts = Readonly<Record<string, () => Promise<unknown>>>;
type Answer<P extends Parts, Name extends keyof P> = Awaited<ReturnType<P[Name]>>;

/**
 * Milliseconds: that a scrape waits; for which an answer is used at least; after which a query no longer waits for the
 * one before it; the longest pause after a failed query.
 */
const LIMITS = { patience: 4_000, fresh: 1_000, turn: 250, longestRest: 300_000 } as const;
/** Each query uses at most this part of one connection's time: a slow answer is used for longer. */
const REST = 20;

type Asked = { readonly answer: Promise<unknown>; usableUntil: number };

/**
 * Runs the queries of all rooms one after the other, as long as none of them is slow.
 * @param options.isAway whether the database did not answer at all: it did no work, and needs no pause
 * @returns a function that turns queries by name into `read`: the answer to one of them, undefined when it failed or
 *   did not come in time
 */
export function createReadings({
  limits = {},
  clock = () => performance.now(),
  isAway = () => false,
}: {
  limits?: Partial<Record<keyof typeof LIMITS, number>> | undefined;
  clock?: (() => number) | undefined;
  isAway?: ((error: unknown) => boolean) | undefined;
} = {}) {
  const { patience, fresh, turn, longestRest } = { ...LIMITS, ...limits };
  let last: Promise<unknown> = Promise.resolve();

  const ask = (put: () => Promise<unknown>): Asked => {
    const before = within(last, turn);
    const answer = before.then(async () => {
      const began = clock();
      try {
        const value = await put();
        const now = clock();
        question.usableUntil = now + Math.max(fresh, (now - began) * REST);
        return value;
      } catch (error) {
        // Its gauges are absent; readiness and an alert report the failure.
        const now = clock();
        question.usableUntil = now + (isAway(error) ? 0 : Math.min(longestRest, (now - began) * REST));
        return undefined;
      }
    });
    // An unfinished query is awaited, however old: a second one would only be slower.
    const question: Asked = { answer, usableUntil: Number.POSITIVE_INFINITY };
    last = answer;
    return question;
  };

  return <P extends Parts>(parts: P) => {
    const asked = new Map<keyof P, Asked>();
    return async <Name extends keyof P & string>(name: Name): Promise<Answer<P, Name> | undefined> => {
      let question = asked.get(name);
      if (question === undefined || clock() >= question.usableUntil) {
        question = ask(async () => parts[name]?.());
        asked.set(name, question);
      }
      // Each answer has the type of its query.
      return (await within(question.answer, patience)) as Answer<P, Name> | undefined;
    };
  };
}

export type Readings = ReturnType<typeof createReadings>;

async function within<T>(work: Promise<T>, patience: number): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), patience);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
