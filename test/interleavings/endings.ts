// The scenario of a token that is issued while something ends it: the seed picks the cell of the table and the order.
import { acceptorsOf, startGuard } from '../authentication/acceptors.ts';
import { CELLS, prepareCell } from '../authentication/endings.ts';
import type { Schedule } from './scheduler.ts';
import { type Scenario, type Stage, succeeded, valueIn } from './stage.ts';

export const endings: Scenario = {
  name: 'tokens beside the ends of tokens',
  refusals: [],
  least: CELLS.length,
  prepare: async (stage, random, seed) => {
    const cell = CELLS[seed % CELLS.length];
    if (cell === undefined) throw new Error('no cell');
    const context = await stage.createTenant();
    if (random.chance(0.5))
      await stage.read.query('UPDATE subscriptions SET deleted_at = now() WHERE tenant_id = $1', [
        context.tenant.id,
      ]);
    const prepared = await prepareCell(cell, { here: stage.rooms(0), away: stage.rooms(3) }, context);
    const [issuing, ending] = [cell.road, cell.change];
    return {
      units: [
        { name: issuing, process: 0, act: prepared.issue },
        { name: ending, process: 1, act: () => prepared.end(stage.rooms(1)) },
      ],
      refusals: prepared.codes,
      check: async (schedule) => {
        const token = valueIn<string>(schedule, issuing);
        if (token === undefined || !isDecided(schedule, ending)) return [];
        return judge(stage, token, {
          tenant: context.tenant,
          isOld: succeeded(schedule, ending) && prepared.isOld(token),
        });
      },
    };
  },
};

/** A change that has lost its connection may have been made. */
const isDecided = ({ faulted }: Schedule, ending: string) => faulted !== ending;

async function judge(
  stage: Stage,
  token: string,
  { tenant, isOld }: { tenant: Parameters<typeof acceptorsOf>[1]['tenant']; isOld: boolean },
): Promise<string[]> {
  const guard = await startGuard(stage.read, tenant.id);
  const acceptors = await acceptorsOf(token, { asked: stage.rooms(2), tenant, guard });
  if (isOld) return acceptors.map((acceptor) => `a token of the old state is accepted by ${acceptor}`);
  return acceptors.length === 2
    ? []
    : [`a token of the new state is accepted by ${acceptors.join() || 'nobody'}`];
}
