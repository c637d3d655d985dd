// Questions to the database that gauges share. A scrape must never wait long for them, ask one twice, nor wear the database out.

type Parts = Readonly<Record<string, () => Promise<unknown>>>;
type Answer<P extends Parts, Name extends keyof P> = Awaited<ReturnType<P[Name]>>;

/** Milliseconds that a scrape waits, and for which an answer counts at least. */
const LIMITS = { patience: 4_000, fresh: 1_000 } as const;
/** Asking takes at most this part of one connection's time: an answer that took long is used for longer. */
const REST = 20;

/**
 * @param parts questions by name, asked one after the other
 * @returns `read`: the answer to one of them, undefined when it failed or did not come in time
 */
export function createReading<P extends Parts>(
  parts: P,
  {
    limits = {},
    clock = () => performance.now(),
  }: {
    limits?: Partial<Record<keyof typeof LIMITS, number>> | undefined;
    clock?: (() => number) | undefined;
  } = {},
) {
  const { patience, fresh } = { ...LIMITS, ...limits };
  let asking: Promise<ReadonlyMap<string, unknown>> | undefined;
  let usableUntil = Number.NEGATIVE_INFINITY;

  const askAll = async (): Promise<ReadonlyMap<string, unknown>> => {
    const began = clock();
    const answers = new Map<string, unknown>();
    for (const [name, ask] of Object.entries(parts)) {
      try {
        answers.set(name, await ask());
      } catch {
        // Its gauges are not there; who is to know of the failure is told by readiness.
      }
    }
    const took = clock() - began;
    // What failed is asked again by the next scrape.
    const complete = answers.size === Object.keys(parts).length;
    usableUntil = clock() + (complete ? Math.max(fresh, took * REST) : 0);
    return answers;
  };

  return async <Name extends keyof P & string>(name: Name): Promise<Answer<P, Name> | undefined> => {
    // One that has not ended is waited for, however old: a second one would only be slower.
    if (asking === undefined || clock() >= usableUntil) {
      usableUntil = Number.POSITIVE_INFINITY;
      asking = askAll();
    }
    const answers = await within(asking, patience);
    // Each answer is what its own question gave.
    return answers?.get(name) as Answer<P, Name> | undefined;
  };
}

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
