// Writes what this process has counted of the objectives, each minute and when it stops, and judges what all have
// written. A killed process loses its last minute.
import type { Database } from '../../platform/database/database.ts';
import { newId } from '../../platform/database/ids.ts';
import {
  forEachObjective,
  OBJECTIVE_NAMES,
  OBJECTIVES,
  type Objective,
  type ObjectiveCount,
  type Objectives,
} from '../../platform/metrics/objectives.ts';
import { createLoop } from '../../platform/process/loop.ts';
import * as store from './objective.store.ts';

/** Milliseconds between two writes. */
const INTERVAL = 60_000;

/**
 * @param options.now the database's time in milliseconds since 1970
 * @returns `start`, whose `stop` writes a last time; call it when nothing is counted any more
 */
export function createObjectiveKeeper({
  database,
  objectives,
  now,
}: {
  database: Pick<Database, 'query'>;
  objectives: Pick<Objectives, 'read'>;
  now: () => number;
}) {
  const process = newId();
  const today = () => new Date(now()).toISOString().slice(0, 10);
  let day = today();
  /** The counts when the day began, and those that were written last. */
  let before = objectives.read();
  let written = JSON.stringify(before);

  const keep = async (): Promise<void> => {
    const read = objectives.read();
    const text = JSON.stringify(read);
    if (text !== written) {
      const counts = forEachObjective((name) => ({
        good: read[name].good - before[name].good,
        total: read[name].total - before[name].total,
      }));
      await store.keep(database, { day, process, counts });
      written = text;
    }
    if (today() === day) return;
    day = today();
    before = read;
  };

  return {
    keep,
    start: () => {
      // While the database is away, the next write has it all.
      const running = createLoop({
        run: keep,
        next: INTERVAL,
        first: INTERVAL,
        onFailure: () => undefined,
      }).start();
      return {
        stop: () =>
          running
            .stop()
            .then(keep)
            .catch(() => undefined),
      };
    },
  };
}

export type ObjectiveKeeper = ReturnType<typeof createObjectiveKeeper>;

/** Both are null while nothing was counted. `budgetLeft`: 1 is all of it; below 0 the objective is missed. */
export type ObjectiveStanding = ObjectiveCount & {
  readonly objective: Objective;
  readonly promised: number;
  readonly seconds: number;
  readonly share: number | null;
  readonly budgetLeft: number | null;
};

/** @returns the share of each objective that was good, and how much of what may fail is left */
export function judgeObjectives(counts: ReadonlyMap<Objective, ObjectiveCount>): ObjectiveStanding[] {
  return OBJECTIVE_NAMES.map((objective) => {
    const { share: promised, seconds } = OBJECTIVES[objective];
    const { good, total } = counts.get(objective) ?? { good: 0, total: 0 };
    const share = total === 0 ? null : good / total;
    const budgetLeft = share === null ? null : 1 - (1 - share) / (1 - promised);
    return { objective, promised, seconds, good, total, share, budgetLeft };
  });
}
