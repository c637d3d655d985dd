// Finds out that the database of Temporal's development server has broken. A request that is canceled while it reads
// can leave the one connection of server 1.29 to SQLite interrupted (modernc.org/sqlite 1.34 keeps the statement open):
// from then on each statement fails, until the process ends. Server 1.31 outlives it.
import { setTimeout as sleep } from 'node:timers/promises';

/** Milliseconds between two questions; one that takes as long counts as not answered. */
const PERIOD = 10_000;
/** Questions in a row without an answer after which the database counts as broken. */
const MOST_FAILURES = 3;
/** What the log says of such a statement. */
export const INTERRUPTED = 'interrupted (9)';

/**
 * Asks until the server is broken, or the signal aborts.
 * @param options.ask makes the server read its database; rejects when it does not answer within `limit` milliseconds
 * @param options.readLog the end of the server's log
 * @param options.period milliseconds between two questions
 * @returns whether the database has broken
 */
export async function untilBroken({
  ask,
  readLog,
  signal,
  period = PERIOD,
}: {
  ask: (limit: number) => Promise<unknown>;
  readLog: () => string;
  signal: AbortSignal;
  period?: number | undefined;
}): Promise<boolean> {
  for (let failures = 0; failures < MOST_FAILURES; ) {
    const isOver = await sleep(period, false, { signal, ref: false }).catch(() => true);
    if (isOver) return false;
    const isAnswered = await ask(period).then(
      () => true,
      () => signal.aborted,
    );
    // A server that is only slow, or that another process has stopped, does not say this.
    failures = isAnswered || !readLog().includes(INTERRUPTED) ? 0 : failures + 1;
  }
  return true;
}
