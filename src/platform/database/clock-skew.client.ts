// Compares the clock of this process with the database's, which decides. One of them is wrong when they differ. So a
// process that reads no revocations knows the database's time anew each minute, too.
import { createLoop, type RunningLoop } from '../process/loop.ts';
import { askTime, type DatabaseClock } from './database-clock.ts';
import type { Queryable } from './transaction.ts';

/** Milliseconds between two comparisons. */
const INTERVAL = 60_000;

/** Seconds from which a difference is reported. Receivers and clients allow for more. */
const TOLERATED = 5;

/**
 * @param options.now the clock of this process in Unix milliseconds
 * @param options.onSkewed receives each difference above 5 seconds; positive: this process is ahead
 * @returns `start`; `seconds`, the last difference, null while it is not known
 */
export function createClockComparison({
  database,
  now,
  onSkewed,
  interval = INTERVAL,
}: {
  database: Queryable & { readonly clock: Pick<DatabaseClock, 'observe' | 'monotonic'> };
  now: () => number;
  onSkewed: (seconds: number) => void;
  interval?: number | undefined;
}) {
  let last: number | null = null;

  const compare = async (): Promise<void> => {
    const began = performance.now();
    const theirs = await askTime(database, database.clock);
    // The database has read its clock at some moment of the statement.
    const unsure = (performance.now() - began) / 2_000;
    last = Math.round((now() / 1_000 - unsure - theirs / 1_000) * 1_000) / 1_000;
    if (Math.abs(last) > TOLERATED + unsure) onSkewed(last);
  };

  return {
    seconds: (): number | null => last,
    start: (): RunningLoop =>
      createLoop({
        run: compare,
        next: interval,
        // The failure of the database is reported elsewhere.
        onFailure: () => {
          last = null;
        },
      }).start(),
  };
}

export type ClockComparison = ReturnType<typeof createClockComparison>;
