// Long work in steps, so that others of the process can have a turn between them.
import { setImmediate as nextRound } from 'node:timers/promises';

/** Runs all steps without a pause. */
export function runSteps<T>(steps: Generator<void, T, void>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

/** Runs each step in another round of the event loop. */
export async function runInRounds<T>(steps: Generator<void, T, void>): Promise<T> {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
    await nextRound();
  }
}

/** Works on some of the items in each round of the event loop. @param some how many */
export async function mapInRounds<Item, Result>(
  items: readonly Item[],
  some: number,
  work: (item: Item, index: number) => Result,
): Promise<Result[]> {
  const results: Result[] = [];
  for (const [index, item] of items.entries()) {
    if (index > 0 && index % some === 0) await nextRound();
    results.push(work(item, index));
  }
  return results;
}
