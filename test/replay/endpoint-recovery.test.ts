// The courses of an endpoint in trouble that are recorded as histories of endpointRecovery.
import { eventually } from '../workflows/delivery-engine.ts';
import { createEndpointEngine, type EndpointEngine } from '../workflows/endpoint-engine.ts';
import { describeHistories } from './describe-histories.ts';

const RECOVERY = { failures: 4, deliveries: 3, failingMs: 0, probeDelaysMs: [1_000, 600_000] } as const;

/** An endpoint that is down: its first probe, a second later, fails as well. */
async function bringDown(engine: EndpointEngine) {
  const { id, path } = await engine.subscribe({ delaysMs: [200, 200, 200, 200] });
  const answers = { status: 500 };
  engine.receiver.answer(path, () => ({ status: answers.status }));
  const ids = await engine.publish(id, 6);
  await eventually(async () => {
    const state = await engine.stateOf(id);
    const far = Date.parse(state?.until ?? '') > Date.now() + 60_000;
    return state?.waitsFor === 'probe' && far;
  }, 'a probe that has failed');
  return { id, ids, answers };
}

const failSince = async (engine: EndpointEngine, id: string, ago: string) => {
  await engine.database.query(
    'UPDATE endpoints SET failing_since = now() - $2::interval WHERE subscription_id = $1',
    [id, ago],
  );
  await engine.actor(id).signal('changed');
};

/** Each has a workflow that ends, and answers with the id of the subscription. */
const SCENARIOS: Record<string, (engine: EndpointEngine) => Promise<string>> = {
  'held-then-open': async (engine) => {
    const { id, path } = await engine.subscribe();
    engine.receiver.answer(path, (_, count) =>
      count > 1 ? { status: 204 } : { status: 503, headers: { 'retry-after': '2' } },
    );
    await engine.publish(id);
    await engine.waitsFor(id, 'hold');
    return id;
  },
  'probed-by-operator': async (engine) => {
    const { id, answers } = await bringDown(engine);
    answers.status = 204;
    await engine.actor(id).executeUpdate('probeNow');
    return id;
  },
  'held-then-released-by-operator': async (engine) => {
    const { id, answers } = await bringDown(engine);
    await engine.actor(id).executeUpdate('hold', { args: [600] });
    answers.status = 204;
    await engine.actor(id).executeUpdate('release');
    return id;
  },
  'held-with-its-host': async (engine) => {
    const { id } = await engine.subscribe();
    const { host } = engine.receiver;
    const hold = { length: 'released', reason: 'a test', operator: 'jo' } as const;
    await engine.database.transaction({}, (unit) => engine.hostHolds.hold(unit, host, hold));
    await engine.publish(id);
    await engine.waitsFor(id, 'hold');
    await engine.database.transaction({}, (unit) => engine.hostHolds.release(unit, host));
    return id;
  },
  'warned-then-recovered': async (engine) => {
    const { id, answers, ids } = await bringDown(engine);
    await failSince(engine, id, '1 day');
    await eventually(async () => (await engine.endpoint(id)).warned > 0, 'the warning');
    answers.status = 204;
    await engine.deliveries.retry(engine.context, ids[0] ?? '');
    return id;
  },
  'deactivated-for-failing': async (engine) => {
    const { id } = await bringDown(engine);
    await failSince(engine, id, '14 days');
    return id;
  },
  'crowd-let-go': async (engine) => {
    const { id, path } = await engine.subscribe({ delaysMs: [1_500] });
    const tried = new Set<string>();
    engine.receiver.answer(path, ({ deliveryId }) => {
      const status = tried.has(deliveryId) ? 204 : 500;
      tried.add(deliveryId);
      return { status };
    });
    await engine.publish(id, 12);
    await engine.waitsFor(id, 'retries');
    return id;
  },
  'deactivated-by-hand': async (engine) => {
    const { id } = await bringDown(engine);
    await engine.subscriptions.update(engine.context, id, { active: false });
    return id;
  },
  deleted: async (engine) => {
    const { id } = await bringDown(engine);
    await engine.subscriptions.remove(engine.context, id);
    return id;
  },
};

describeHistories({
  workflow: 'endpoint-recovery',
  scenarios: SCENARIOS,
  start: async () => {
    const engine = await createEndpointEngine({ recovery: RECOVERY });
    await engine.startProcess();
    engine.startRunner();
    await engine.subscribe({ eventTypes: ['webhook.*'] });
    return engine;
  },
  record: async (engine, scenario) => {
    const handle = engine.actor(await scenario(engine));
    await handle.result();
    return handle.fetchHistory();
  },
  activity: { name: 'deactivateEndpoint', of: 'deactivated-for-failing' },
});
