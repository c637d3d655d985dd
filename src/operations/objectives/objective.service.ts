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
import { Service } from '../../platform/service.ts';
import * as store from './objective.store.ts';

/** Milliseconds between two writes. */
const INTERVAL = 60_000;

/** @returns `start`, whose `stop` writes a last time; call it when nothing is counted any more */
export class ObjectiveKeeper extends Service<{
  database: Pick<Database, 'query'>;
  objectives: Pick<Objectives, 'read'>;
  /** The database's time in milliseconds since 1970. */
  now: () => number;
}> {
  readonly #process = newId();
  #today = () => new Date(this.needs.now()).toISOString().slice(0, 10);
  #day = this.#today();
  /** The counts when the day began, and those that were written last. */
  #before = this.needs.objectives.read();
  #written = JSON.stringify(this.#before);

  /** Writes the counts of this process for the day, if they have changed. */
  keep = async (): Promise<void> => {
    const read = this.needs.objectives.read();
    const text = JSON.stringify(read);
    if (text !== this.#written) {
      const counts = forEachObjective((name) => ({
        good: read[name].good - this.#before[name].good,
        total: read[name].total - this.#before[name].total,
      }));
      await store.keep(this.needs.database, this.#day, this.#process, counts);
      this.#written = text;
    }
    if (this.#today() === this.#day) return;
    this.#day = this.#today();
    this.#before = read;
  };

  /** Begins to write the counts. @returns `stop`, which writes them once more */
  start = () => {
    // While the database is away, the next write has it all.
    const running = createLoop({
      run: this.keep,
      next: INTERVAL,
      first: INTERVAL,
      onFailure: () => undefined,
    }).start();
    return {
      stop: () =>
        running
          .stop()
          .then(this.keep)
          .catch(() => undefined),
    };
  };
}

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
