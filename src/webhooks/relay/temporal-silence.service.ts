// Says once a minute that Temporal does not answer, since when, and how many deliveries wait.
import { createLoop, type RunningLoop } from '../../platform/process/loop.ts';

/** `since`: the last answer, or the start of the watch. `deliveries`: undefined when the database is away too. */
export type Silence = { readonly since: string; readonly deliveries: number | undefined };

/** Milliseconds between two probes, and the failed probes in a row that are one line. */
const SETTINGS = { interval: 10_000, failures: 6 } as const;

/**
 * @param options.probe resolves with whether Temporal answers
 * @param options.countWaiting counts the deliveries that wait
 * @param options.onAnswer called for the first answer after a silence
 */
export function createTemporalSilence({
  probe,
  countWaiting,
  onSilence,
  onAnswer,
  settings = SETTINGS,
}: {
  probe: () => Promise<boolean>;
  countWaiting: () => Promise<number>;
  onSilence: (silence: Silence) => void;
  onAnswer: () => void;
  settings?: { readonly interval: number; readonly failures: number } | undefined;
}) {
  let since = new Date();
  let failed = 0;

  const look = async (): Promise<void> => {
    if (await probe()) {
      if (failed >= settings.failures) onAnswer();
      failed = 0;
      since = new Date();
      return;
    }
    failed += 1;
    if (failed % settings.failures !== 0) return;
    const deliveries = await countWaiting().catch(() => undefined);
    onSilence({ since: since.toISOString(), deliveries });
  };

  return {
    start: (): RunningLoop => {
      since = new Date();
      return createLoop({ run: look, next: settings.interval, onFailure: () => undefined }).start();
    },
  };
}
