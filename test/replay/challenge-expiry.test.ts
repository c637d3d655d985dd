// The courses of a bucket that are recorded as histories of challengeExpiry.
import {
  type ChallengeExpiryEngine,
  createChallengeExpiryEngine,
} from '../workflows/challenge-expiry-engine.ts';
import { describeHistories } from './describe-histories.ts';

type Handle = Awaited<ReturnType<ChallengeExpiryEngine['begin']>>;

/** Each has a workflow that ends. */
const SCENARIOS: Record<string, (engine: ChallengeExpiryEngine) => Promise<Handle>> = {
  swept: async (engine) => {
    await engine.ended(3, 30);
    return engine.begin(1_000);
  },
  'nothing-overdue': (engine) => engine.begin(1_000),
  'ended-quietly': (engine) => engine.begin(1_000),
  'bucket-long-over': (engine) => engine.begin(-60_000),
  'in-several-calls': async (engine) => {
    for (const seconds of [40, 30, 20]) await engine.ended(2, seconds);
    return engine.begin(1_000);
  },
  'swept-by-operator': async (engine) => {
    await engine.ended(1, 30);
    const handle = await engine.begin(600_000);
    await handle.executeUpdate('sweepNow', { args: ['asked by phone'] });
    return handle;
  },
};

describeHistories({
  workflow: 'challenge-expiry',
  scenarios: SCENARIOS,
  start: async () => {
    const engine = await createChallengeExpiryEngine();
    await engine.startWorker(engine.serviceWith({ chunk: 1, budget: -1 }));
    return engine;
  },
  record: async (engine, scenario) => {
    await engine.rewind();
    const handle = await scenario(engine);
    await handle.result();
    return handle.fetchHistory();
  },
  activity: { name: 'auditExpiredChallenges', of: 'swept' },
});
