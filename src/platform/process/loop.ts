// Repeats background work until it is stopped, with a wait after each run.

export type RunningLoop = {
  /** Stops the loop and waits for the current run. */
  stop(): Promise<void>;
};

/**
 * Makes a loop, whose runs never overlap.
 * @param options.run the work; a run that may be long should observe the signal of the stop
 * @param options.next milliseconds to wait after a run, by its result (undefined after a failure); 0: no wait
 * @param options.first milliseconds to wait before the first run
 * @param options.onFailure receives the error of a run; the loop continues
 */
export function createLoop<Result>({
  run,
  next,
  first = 0,
  onFailure,
}: {
  run: (signal: AbortSignal) => Promise<Result>;
  next: number | ((result: Result | undefined) => number);
  first?: number | undefined;
  onFailure: (error: unknown) => void;
}) {
  let isWoken = false;
  let timer: NodeJS.Timeout | undefined;
  let underWay: Promise<void> | undefined;

  const attempt = async (signal: AbortSignal): Promise<Result | undefined> => {
    try {
      return await run(signal);
    } catch (error) {
      // A run that ended because of the stop has not failed.
      if (!signal.aborted || error !== signal.reason) onFailure(error);
      return undefined;
    }
  };

  const clear = (): void => {
    clearTimeout(timer);
    timer = undefined;
  };

  const turn = (signal: AbortSignal): void => {
    clear();
    isWoken = false;
    underWay = attempt(signal).then((result) => {
      underWay = undefined;
      if (!signal.aborted) plan(signal, typeof next === 'number' ? next : next(result));
    });
  };

  const plan = (signal: AbortSignal, ms: number): void => {
    if (ms <= 0 || isWoken) turn(signal);
    else timer = setTimeout(turn, ms, signal);
  };

  let ending = new AbortController();

  return {
    /** Ends the wait between two runs. During a run it removes the wait before the next run. */
    wake: (): void => {
      isWoken = true;
      if (timer !== undefined) turn(ending.signal);
    },

    /** Starts the loop; call it again only after a stop. */
    start: (): RunningLoop => {
      ending = new AbortController();
      plan(ending.signal, first);
      return {
        stop: async () => {
          ending.abort();
          clear();
          await underWay;
        },
      };
    },
  };
}
