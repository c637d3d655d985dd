// Reports failed authentications with their number, at most once a minute for each key. Therefore a client without
// valid credentials cannot increase the number of writes. Reports are written in the background and delay no answer.

/** Milliseconds between two reports of one key. Here, a key is a text that names a kind of failure. */
const PAUSE = 60_000;

/** Greatest number of keys that are counted at the same time. Failures of further keys are ignored. */
const MOST_KEYS = 100_000;

type Window<Failure> = { untold: number; last: Failure; readonly timer: NodeJS.Timeout };

/**
 * Creates a counter of failures for this process.
 * @param tell writes a report. It receives the last failure of a key, the number of failures since the previous report,
 * and whether this report is for a first failure (`report` has returned true for it).
 * @param onError receives the error of `tell`; the failures are counted in the next report
 * @param pause milliseconds between two reports of one key; a minute by default
 */
export function createFailureReporter<Failure>({
  tell,
  onError,
  pause = PAUSE,
}: {
  tell: (failure: Failure, count: number, isFirst: boolean) => Promise<void>;
  onError: (error: unknown) => void;
  pause?: number | undefined;
}) {
  const windows = new Map<string, Window<Failure>>();
  const underWay = new Set<Promise<void>>();

  function begin(key: string, failure: Failure, untold: number, isFirst: boolean): void {
    const timer = setTimeout(() => settle(key), pause);
    timer.unref();
    const window = { untold, last: failure, timer };
    windows.set(key, window);
    if (untold > 0) send(window, isFirst);
  }

  function settle(key: string): void {
    const window = windows.get(key);
    windows.delete(key);
    if (window !== undefined && window.untold > 0) begin(key, window.last, window.untold, false);
  }

  function send(window: Window<Failure>, isFirst: boolean): void {
    const count = window.untold;
    window.untold = 0;
    const telling = tell(window.last, count, isFirst).catch((error: unknown) => {
      window.untold += count;
      onError(error);
    });
    underWay.add(telling);
    void telling.finally(() => underWay.delete(telling));
  }

  return {
    /**
     * Counts a failure of this key. The first failure is reported immediately. Later failures are reported together
     * with their number after a minute.
     * @returns true when this failure is reported now
     */
    report(key: string, failure: Failure): boolean {
      const window = windows.get(key);
      if (window === undefined) {
        const hasRoom = windows.size < MOST_KEYS;
        if (hasRoom) begin(key, failure, 1, true);
        return hasRoom;
      }
      window.untold += 1;
      window.last = failure;
      return false;
    },

    /** Waits for the reports that are being written. */
    settled: async (): Promise<void> => void (await Promise.all(underWay)),

    async close(): Promise<void> {
      for (const window of windows.values()) {
        clearTimeout(window.timer);
        if (window.untold > 0) send(window, false);
      }
      windows.clear();
      await Promise.all(underWay);
    },
  };
}
