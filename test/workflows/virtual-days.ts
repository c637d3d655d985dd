// Ten days in a minute: the engine on a clock of its own. A wait of days is cut to nothing, and the database's clock,
// which decides everything, jumps by as much. Only a wait without neighbours is cut: no other's time runs.
import type { Database } from '../../src/platform/database/database.ts';
import type { EngineActivities } from './delivery-engine.ts';
import { createEndpointEngine, type EndpointEngine } from './endpoint-engine.ts';
import { advanceClock, installVirtualClock, VIRTUAL_TIME } from './virtual-clock.ts';

type Waiting = { step: { kind: string; reason?: string; delayMs?: number } };

const LONG_WAITS: readonly (string | undefined)[] = ['probe', 'hold'];

/**
 * @param cut whose waits are cut: those of endpoints' actors for a probe or a hold's end, or those of single deliveries
 *   between attempts
 */
export async function createVirtualEngine(cut: 'endpoints' | 'deliveries'): Promise<EndpointEngine> {
  const place: { database?: Database } = {};
  const advance = async (delayMs: number): Promise<void> => {
    if (place.database !== undefined) await advanceClock(place.database, delayMs);
  };
  const jump = async <Result extends Waiting>(result: Result): Promise<Result> => {
    const { step } = result;
    if (cut !== 'endpoints' || step.kind !== 'wait' || !LONG_WAITS.includes(step.reason)) return result;
    await advance(step.delayMs ?? 0);
    return { ...result, step: { ...step, delayMs: 1 } };
  };
  const wrap = (activities: EngineActivities): EngineActivities => ({
    ...activities,
    readEndpoint: async (name) => jump(await activities.readEndpoint(name)),
    probeEndpoint: async (name, epoch) => jump(await activities.probeEndpoint(name, epoch)),
    warnOfFailingEndpoint: async (name) => jump(await activities.warnOfFailingEndpoint(name)),
    sendDelivery: async (request) => {
      const result = await activities.sendDelivery(request);
      if (cut !== 'deliveries' || result.kind !== 'settled' || result.step.kind !== 'wait') return result;
      await advance(result.step.delayMs);
      return { ...result, step: { ...result.step, delayMs: 0 } };
    },
  });
  const engine = await createEndpointEngine({ prepare: installVirtualClock, schemas: VIRTUAL_TIME, wrap });
  place.database = engine.database;
  return engine;
}
