// Reports failed authentications with their number, at most once a minute for each key. Therefore a client without
// valid credentials cannot increase the number of writes. Reports are written in the background and delay no answer.

/** Milliseconds between two reports of one key. Here, a key is a text that names a kind of failure. */
import { Service } from '../platform/service.ts';

const PAUSE = 60_000;

/** Greatest number of keys that are counted at the same time. Failures of further keys are ignored. */
const MOST_KEYS = 100_000;

type Window<Failure> = { untold: number; last: Failure; readonly timer: NodeJS.Timeout };

/** Creates a counter of failures for this process. */
export class FailureReporter<Failure> extends Service<{
  /**
   * Writes a report. It receives the last failure of a key, the number of failures since the previous report,
   * and whether this report is for a first failure (`report` has returned true for it).
   */
  tell: (failure: Failure, count: number, isFirst: boolean) => Promise<void>;
  /** Receives the error of `tell`; the failures are counted in the next report. */
  onError: (error: unknown) => void;
  /** Milliseconds between two reports of one key; a minute by default. */
  pause?: number | undefined;
}> {
  readonly #pause = this.needs.pause ?? PAUSE;
  readonly #windows = new Map<string, Window<Failure>>();
  readonly #underWay = new Set<Promise<void>>();

  /**
   * Counts a failure of this key. The first failure is reported immediately. Later failures are reported together
   * with their number after a minute.
   * @returns true when this failure is reported now
   */
  report = (key: string, failure: Failure): boolean => {
    const window = this.#windows.get(key);
    if (window === undefined) {
      const hasRoom = this.#windows.size < MOST_KEYS;
      if (hasRoom) this.#begin(key, failure, 1, true);
      return hasRoom;
    }
    window.untold += 1;
    window.last = failure;
    return false;
  };

  /** Waits for the reports that are being written. */
  settled = async (): Promise<void> => void (await Promise.all(this.#underWay));

  /** Reports all counted failures, and waits for that. Called once, when the process stops. */
  close = async (): Promise<void> => {
    for (const window of this.#windows.values()) {
      clearTimeout(window.timer);
      if (window.untold > 0) this.#send(window, false);
    }
    this.#windows.clear();
    await Promise.all(this.#underWay);
  };

  #begin = (key: string, failure: Failure, untold: number, isFirst: boolean): void => {
    const timer = setTimeout(() => this.#settle(key), this.#pause);
    timer.unref();
    const window = { untold, last: failure, timer };
    this.#windows.set(key, window);
    if (untold > 0) this.#send(window, isFirst);
  };

  #settle = (key: string): void => {
    const window = this.#windows.get(key);
    this.#windows.delete(key);
    if (window !== undefined && window.untold > 0) this.#begin(key, window.last, window.untold, false);
  };

  #send = (window: Window<Failure>, isFirst: boolean): void => {
    const count = window.untold;
    window.untold = 0;
    const telling = this.needs.tell(window.last, count, isFirst).catch((error: unknown) => {
      window.untold += count;
      this.needs.onError(error);
    });
    this.#underWay.add(telling);
    void telling.finally(() => this.#underWay.delete(telling));
  };
}
