// The sweep: mends each minute, in one worker at a time, what breaks an invariant and can be mended without a person.
import type { Database } from '../../platform/database/database.ts';
import { createLoop, type RunningLoop } from '../../platform/process/loop.ts';
import { Service } from '../../platform/service.ts';
import type { Invariant } from './invariant.ts';
import * as store from './sweep.store.ts';

/** How many rows were mended, by the name of the invariant. One that could not be mended is not in it. */
export type SweepReport = Readonly<Record<string, number>>;

/** Milliseconds between two sweeps. */
const INTERVAL = 60_000;

type SweepNeeds<Tools> = {
  database: Pick<Database, 'pool'>;
  invariants: readonly Invariant<Tools>[];
  tools: Tools;
  /** Receives the report of a sweep that changed something. */
  onSwept?: ((report: SweepReport) => void) | undefined;
  /** Receives why an invariant could not be mended; the others are mended all the same. */
  onFailure: (error: unknown) => void;
};

export class SweepService<Tools> extends Service<SweepNeeds<Tools>> {
  /** Sweeps once. @returns undefined when another process is sweeping @throws when the database does not answer */
  run = (): Promise<SweepReport | undefined> => store.exclusively(this.needs.database, this.#sweep);

  /** Sweeps each minute. */
  start = (): RunningLoop => {
    // The random part spreads the sweeps of processes that started together.
    const next = () => INTERVAL * (0.9 + 0.2 * Math.random());
    const run = async () => {
      const report = await this.run();
      if (report !== undefined && Object.values(report).some((count) => count > 0))
        this.needs.onSwept?.(report);
    };
    return createLoop({ run, first: next(), next, onFailure: this.needs.onFailure }).start();
  };

  #sweep = async (): Promise<SweepReport> => {
    const report: Record<string, number> = {};
    for (const { name, mend } of this.needs.invariants)
      try {
        if (mend !== undefined) report[name] = await mend(this.needs.tools);
      } catch (error) {
        this.needs.onFailure(error);
      }
    return report;
  };
}
