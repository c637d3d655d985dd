// Ten days in a minute: how time passes for the engine. With TEST_TIME_SKIPPING_SERVER (an executable of Temporal's Java test server) it
// is that server's; without one the run's own server is used, where a wait for days is cut to nothing while the database's clock jumps.
import type { Database } from '../../src/database/database.ts';
import { type EngineActivities, installRuntimeOnce } from './delivery-engine.ts';
import { createEndpointEngine, type EndpointEngine } from './endpoint-engine.ts';
import { advanceClock, installVirtualClock, readClock } from './virtual-clock.ts';

export type VirtualEngine = {
  readonly engine: EndpointEngine;
  /** Lets time pass until the endpoint's actor has waited for its probe, where it does not by itself. */
  pass(until: string): Promise<void>;
  close(): Promise<void>;
};

type Waiting = { step: { kind: string; reason?: string; delayMs?: number } };

const LONG_WAITS: readonly (string | undefined)[] = ['probe', 'hold'];

/** @param deliveries whether the waits of single deliveries are cut as well */
export async function createJumpingEngine(
  mode: 'all' | 'retries',
  { deliveries = false }: { deliveries?: boolean } = {},
): Promise<VirtualEngine> {
  const place: { database?: Database } = {};
  const jump = async <Result extends Waiting>(result: Result): Promise<Result> => {
    const { step } = result;
    const delayMs = step.kind === 'wait' && LONG_WAITS.includes(step.reason) ? (step.delayMs ?? 0) : 0;
    if (delayMs === 0 || place.database === undefined) return result;
    await advanceClock(place.database, delayMs);
    return { ...result, step: { ...step, delayMs: 1 } };
  };
  const wrap = (activities: EngineActivities): EngineActivities => ({
    ...activities,
    readEndpoint: async (name) => jump(await activities.readEndpoint(name)),
    probeEndpoint: async (name, epoch) => jump(await activities.probeEndpoint(name, epoch)),
    warnOfFailingEndpoint: async (name) => jump(await activities.warnOfFailingEndpoint(name)),
    sendDelivery: async (request) => {
      const result = await activities.sendDelivery(request);
      if (!deliveries || result.kind !== 'settled' || result.step.kind !== 'wait') return result;
      if (place.database !== undefined) await advanceClock(place.database, result.step.delayMs);
      return { ...result, step: { ...result.step, delayMs: 0 } };
    },
  });
  const engine = await createEndpointEngine(mode, { prepare: installVirtualClock, wrap });
  place.database = engine.database;
  return { engine, pass: async () => undefined, close: () => engine.close() };
}

/** @param executable Temporal's test server, which skips time */
export async function createSkippingEngine(
  mode: 'all' | 'retries',
  executable: string,
): Promise<VirtualEngine> {
  installRuntimeOnce();
  const { TestWorkflowEnvironment } = await import('@temporalio/testing');
  const environment = await TestWorkflowEnvironment.createTimeSkipping({
    server: { executable: { type: 'existing-path', path: executable } },
  });
  const place: { database?: Database } = {};
  /** The database's clock follows the server's. */
  const follow = async (): Promise<void> => {
    if (place.database === undefined) return;
    const ahead = (await environment.currentTimeMs()) - (await readClock(place.database)).getTime();
    if (ahead > 0) await advanceClock(place.database, ahead);
  };
  const following =
    <Arguments extends unknown[], Result>(activity: (...given: Arguments) => Promise<Result>) =>
    async (...given: Arguments): Promise<Result> => {
      await follow();
      return activity(...given);
    };
  const wrap = (activities: EngineActivities): EngineActivities => ({
    ...activities,
    readEndpoint: following(activities.readEndpoint),
    probeEndpoint: following(activities.probeEndpoint),
    warnOfFailingEndpoint: following(activities.warnOfFailingEndpoint),
    sendDelivery: following(activities.sendDelivery),
  });
  const { address, namespace = 'default' } = environment;
  const engine = await createEndpointEngine(mode, {
    prepare: installVirtualClock,
    wrap,
    temporal: { address, namespace },
  });
  place.database = engine.database;
  return {
    engine,
    pass: async (until) => {
      const left = new Date(until).getTime() - (await environment.currentTimeMs());
      if (left > 0) await environment.sleep(left);
      await follow();
    },
    close: async () => {
      await engine.close();
      await environment.teardown();
    },
  };
}
