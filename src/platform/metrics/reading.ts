// Queries of gauges, shared by concurrent scrapes. The time of a scrape and the load on the database are limited, and a
// failed query does not affect the others.
import { within } from '../within.ts';

type Parts = Readonly<Record<string, () => Promise<unknown>>>;
type Answer<P extends Parts, Name extends keyof P> = Awaited<ReturnType<P[Name]>>;

/**
 * Milliseconds. `patience`: the wait of a scrape. `fresh`: an answer is used at least so long. `turn`: the longest wait
 * of a query for the previous query. `longestRest`: the longest pause after a failed query.
 */
const LIMITS = { patience: 4_000, fresh: 1_000, turn: 250, longestRest: 300_000 } as const;
/** A query may use 1/20 of one connection's time, so a slow answer is used for longer. */
const REST = 20;

type Asked = { readonly answer: Promise<unknown>; usableUntil: number };

/**
 * Runs the queries of all rooms in sequence, unless one of them is slow.
 * @param options.isAway true when the database did not answer at all: it did no work, and needs no pause
 * @returns a function that turns queries by name into `read`, which returns the answer of one query; undefined when the
 *   query failed or was too slow
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
    const before = within(turn, last, () => undefined);
    const answer = before.then(async () => {
      const began = clock();
      try {
        const value = await put();
        const now = clock();
        question.usableUntil = now + Math.max(fresh, (now - began) * REST);
        return value;
      } catch (error) {
        // The gauges of a failed query are absent. Readiness and an alert report the failure.
        const now = clock();
        question.usableUntil = now + (isAway(error) ? 0 : Math.min(longestRest, (now - began) * REST));
        return undefined;
      }
    });
    // An unfinished query is awaited at any age, because a second query would be even slower.
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
      return (await within(patience, question.answer, () => undefined)) as Answer<P, Name> | undefined;
    };
  };
}

export type Readings = ReturnType<typeof createReadings>;
