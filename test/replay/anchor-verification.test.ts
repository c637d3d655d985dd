// The courses of an anchor that are recorded as histories of anchorVerification.
import { type AnchorEngine, createAnchorEngine } from '../workflows/anchor-engine.ts';
import { describeHistories } from './describe-histories.ts';

const DAY = 24 * 3_600_000;

/** Each has a workflow that ends, and answers with the anchor's id. */
const SCENARIOS: Record<string, (engine: AnchorEngine) => Promise<string>> = {
  'verified-then-revoked': async (engine) => {
    const one = await engine.begin();
    await engine.shows(one.id, { status: 'pending', lastOutcome: 'http:404' });
    engine.places.publish(one);
    await engine.reaches(one, 'verified');
    await engine.shows(one.id, { status: 'verified' });
    await one.revoke('no longer ours');
    return one.id;
  },
  'checked-on-request': async (engine) => {
    const one = await engine.begin('domain_dns');
    await engine.shows(one.id, { status: 'pending', lastOutcome: 'dns:ENOTFOUND' });
    await one.age(DAY);
    engine.places.publish(one);
    await one.check();
    await engine.reaches(one, 'verified');
    await engine.shows(one.id, { status: 'verified' });
    await one.revoke();
    return one.id;
  },
  'looked-at-by-operator': async (engine) => {
    const one = await engine.begin('domain_dns');
    await engine.shows(one.id, { status: 'pending', lastOutcome: 'dns:ENOTFOUND' });
    engine.places.publish(one);
    await engine.workflow(one.id).executeUpdate('lookNow', { args: ['asked by phone'] });
    await engine.shows(one.id, { status: 'verified' });
    await one.revoke();
    return one.id;
  },
  failed: async (engine) => {
    const one = await engine.begin();
    await engine.shows(one.id, { status: 'pending', lastOutcome: 'http:404' });
    await one.age(7 * DAY);
    await engine.workflow(one.id).signal('changed');
    return one.id;
  },
  'missing-then-revoked': async (engine) => {
    const one = await engine.begin();
    engine.places.publish(one);
    await engine.reaches(one, 'verified');
    engine.places.withdraw(one);
    for (let days = 0; days < 6 && (await one.read()).status === 'verified'; days += 1) {
      await engine.shows(one.id, {}).catch(() => undefined);
      const { lastCheckedAt } = await one.read();
      await one.age(DAY);
      await engine.workflow(one.id).signal('changed');
      await engine.looked(one, lastCheckedAt);
    }
    return one.id;
  },
  'revoked-while-pending': async (engine) => {
    const one = await engine.begin();
    await engine.shows(one.id, { status: 'pending', lastOutcome: 'http:404' });
    await one.revoke();
    return one.id;
  },
  'agent-deleted': async (engine) => {
    const one = await engine.begin();
    await engine.shows(one.id, { status: 'pending', lastOutcome: 'http:404' });
    await engine.rooms.agents.remove(engine.context, one.agentId);
    return one.id;
  },
};

describeHistories({
  workflow: 'anchor-verification',
  scenarios: SCENARIOS,
  start: async () => {
    const engine = await createAnchorEngine();
    engine.startRunner();
    await engine.startWorker();
    return engine;
  },
  record: async (engine, scenario) => {
    const handle = engine.workflow(await scenario(engine));
    await handle.result();
    return handle.fetchHistory();
  },
  activity: { name: 'failAnchor', of: 'failed' },
});
