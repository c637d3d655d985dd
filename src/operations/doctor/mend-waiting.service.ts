// What checks share: their pace, running workflows compared with rows, and the wait until a mend has taken effect.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Outcome, Reporter } from './finding.ts';

/**
 * `page`: rows of a page. `atOnce`: workflows that are queried concurrently. Milliseconds: `settle` between the first
 * and the second comparison, `seen` until a mend must have taken effect, `poll` between two polls.
 */
export type Pace = {
  readonly page: number;
  readonly atOnce: number;
  readonly settle: number;
  readonly seen: number;
  readonly poll: number;
};

export const PACE: Pace = { page: 1_000, atOnce: 16, settle: 2_000, seen: 15_000, poll: 250 };

/** Polls `probe` until it returns true. @returns false when it has not returned true within `seen` milliseconds */
export async function comesTrue(
  probe: () => Promise<boolean>,
  { seen, poll }: Pick<Pace, 'seen' | 'poll'>,
): Promise<boolean> {
  for (const end = performance.now() + seen; ; await sleep(poll)) {
    if (await probe()) return true;
    if (performance.now() > end) return false;
  }
}

/** `mended` when the condition holds in time, and `asked` until then. */
export async function mendedWhen(
  condition: () => Promise<boolean>,
  pace: Pick<Pace, 'seen' | 'poll'>,
): Promise<Exclude<Outcome, 'left'>> {
  return (await comesTrue(condition, pace)) ? 'mended' : 'asked';
}

/**
 * Compares all running workflows of a type with the rows that should have one, once. Temporal's list of workflows may
 * be a few seconds old.
 * @param idOf the id of the workflow of a row
 * @returns `missing`: rows whose workflow does not run, by its id; `orphans`: ids of workflows without a row
 */
export async function compareRunning<Row>(
  running: AsyncIterable<readonly string[]>,
  rows: AsyncIterable<readonly Row[]>,
  { idOf, looked }: { idOf: (row: Row) => string; looked: Reporter['looked'] },
): Promise<{ missing: ReadonlyMap<string, Row>; orphans: ReadonlySet<string> }> {
  const orphans = new Set<string>();
  for await (const page of running) for (const id of page) orphans.add(id);
  const missing = new Map<string, Row>();
  for await (const page of rows) {
    for (const row of page) if (!orphans.delete(idOf(row))) missing.set(idOf(row), row);
    looked(page.length);
  }
  looked(orphans.size);
  return { missing, orphans };
}

/** @param size items of a group */
export async function inGroups<Item>(
  items: readonly Item[],
  size: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  for (let start = 0; start < items.length; start += size)
    await Promise.all(items.slice(start, start + size).map(work));
}
