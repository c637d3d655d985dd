// Says once a minute that Temporal does not answer, since when, and how many deliveries wait.

import { createLoop, type RunningLoop } from '../../platform/process/loop.ts';
import { Service } from '../../platform/service.ts';

/** `since`: the last answer, or the start of the watch. `deliveries`: undefined when the database is away too. */
export type Silence = { readonly since: string; readonly deliveries: number | undefined };

/** Milliseconds between two probes, and the failed probes in a row that are one line. */
const SETTINGS = { interval: 10_000, failures: 6 } as const;

export class TemporalSilence extends Service<{
  /** Resolves with whether Temporal answers. */
  probe: () => Promise<boolean>;
  /** Counts the deliveries that wait. */
  countWaiting: () => Promise<number>;
  onSilence: (silence: Silence) => void;
  /** Called for the first answer after a silence. */
  onAnswer: () => void;
  settings?: { readonly interval: number; readonly failures: number } | undefined;
}> {
  readonly #settings = this.needs.settings ?? SETTINGS;
  #since = new Date();
  #failed = 0;

  /** Begins to probe Temporal. */
  start = (): RunningLoop => {
    this.#since = new Date();
    return createLoop({ run: this.#look, next: this.#settings.interval, onFailure: () => undefined }).start();
  };

  #look = async (): Promise<void> => {
    if (await this.needs.probe()) {
      if (this.#failed >= this.#settings.failures) this.needs.onAnswer();
      this.#failed = 0;
      this.#since = new Date();
      return;
    }
    this.#failed += 1;
    if (this.#failed % this.#settings.failures !== 0) return;
    const deliveries = await this.needs.countWaiting().catch(() => undefined);
    this.needs.onSilence({ since: this.#since.toISOString(), deliveries });
  };
}
