// The doctor's check of an invariant. It mends by the hand of the sweep, and not while a worker sweeps.
import type { Database } from '../../platform/database/database.ts';
import type { Check } from '../doctor/finding.ts';
import { describeBreach, type Invariant } from './invariant.ts';
import { exclusively } from './sweep.store.ts';

export function createInvariantCheck<Tools>(
  invariant: Invariant<Tools>,
  { database, tools }: { database: Pick<Database, 'query' | 'pool'>; tools: Tools },
): Check {
  const { name, says, subject, late, find, mend } = invariant;
  const read = async () => {
    const breach = await find(database, late);
    return breach.count === 0 ? undefined : breach;
  };
  return {
    name,
    title: `no ${says}`,
    examine: async ({ found, looked }) => {
      const breach = await read();
      looked(1);
      if (breach === undefined) return;
      const mendNow =
        mend &&
        (async () => {
          await exclusively(database, () => mend(tools));
          return (await read()) === undefined ? ('mended' as const) : ('asked' as const);
        });
      await found({ code: name, subject, detail: describeBreach(invariant, breach) }, mendNow);
    },
  };
}
