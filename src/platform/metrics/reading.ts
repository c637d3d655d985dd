// Questions to the database that gauges share. A scrape must never wait long for them, ask one twice, nor wear the database out; and no
// question may silence another.

type Parts = Readonly<Record<string, () => Promise<unknown>>>;
type Answer<P extends Parts, Name extends keyof P> = Awaited<ReturnType<P[Name]>>;

/**
 * Milliseconds: that a scrape waits; for which an answer counts at least; after which a question no longer waits for the one before it;
 * for which one that failed is let be at most.
 */
const LIMITS = { patience: 4_000, fresh: 1_000, turn: 250, longestRest: 300_000 } as const;
/** Each question takes at most this part of one connection's time: an answer that took long is used for longer. */
const REST = 20;

type Asked = { readonly answer: Promise<unknown>; usableUntil: number };

/**
 * Asks one question after the other as long as none of them is slow, whatever room they are of.
 * @param options.isAway whether a failure came from a database that is not there: it did no work, and needs no rest
 * @returns what turns questions by name into `read`: the answer to one of them, undefined when it failed or did not come in time
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
        // Its gauges are not there; who is to know of the failure is told by readiness, and by an alert.
        const now = clock();
        question.usableUntil = now + (isAway(error) ? 0 : Math.min(longestRest, (now - began) * REST));
        return undefined;
      }
    });
    // One that has not ended is waited for, however old: a second one would only be slower.
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
      // Each answer is what its own question gave.
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
