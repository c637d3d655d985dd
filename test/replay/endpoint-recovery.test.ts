// Histories of endpoints' recoveries as earlier versions made them: today's workflow must be able to go on from any of them. With
// RECORD_HISTORIES=1 the ones that are missing are recorded; one that is there is never written again.
import { existsSync, readFileSync } from 'node:fs';
import { Worker } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { workflowBundle } from '../setup/workflow-bundle.ts';
import { eventually, installRuntimeOnce } from '../workflows/delivery-engine.ts';
import { createEndpointEngine, type EndpointEngine } from '../workflows/endpoint-engine.ts';
import { parseHistory, readHistory, writeHistory } from './history-file.ts';

const fileOf = (name: string) => new URL(`./histories/endpoint-recovery.${name}.json`, import.meta.url);

const RECOVERY = { failures: 4, deliveries: 3, probeDelaysMs: [1_000, 600_000] } as const;

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
    'UPDATE lanes SET failing_since = now() - $2::interval WHERE subscription_id = $1',
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
  'warned-then-recovered': async (engine) => {
    const { id, answers, ids } = await bringDown(engine);
    await failSince(engine, id, '1 day');
    await eventually(async () => (await engine.lane(id)).warned > 0, 'the warning');
    answers.status = 204;
    await engine.deliveries.retry(engine.context, ids[0] ?? '');
    return id;
  },
  'deactivated-for-failing': async (engine) => {
    const { id } = await bringDown(engine);
    await failSince(engine, id, '14 days');
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

describe.runIf(process.env.RECORD_HISTORIES === '1')('recording', () => {
  let engine: EndpointEngine;
  beforeAll(async () => {
    engine = await createEndpointEngine('retries', { recovery: RECOVERY });
    await engine.startProcess();
    engine.startRunner();
    await engine.subscribe({ eventTypes: ['webhook.*'] });
  });
  afterAll(() => engine.close());

  it.each(Object.keys(SCENARIOS).filter((name) => !existsSync(fileOf(name))))('%s', async (name) => {
    const handle = engine.actor((await SCENARIOS[name]?.(engine)) ?? '');
    await handle.result();
    writeHistory(fileOf(name), await handle.fetchHistory());
  });
});

describe('replaying', () => {
  beforeAll(installRuntimeOnce);

  const options = async () => ({ workflowBundle: await workflowBundle(), reuseV8Context: true });

  it.each(Object.keys(SCENARIOS))('%s', async (name) => {
    await Worker.runReplayHistory(await options(), readHistory(fileOf(name)));
  });

  it('notices a workflow that does something else', async () => {
    const text = readFileSync(fileOf('deactivated-for-failing'), 'utf8').replaceAll(
      'deactivateEndpoint',
      'deactivateSomethingElse',
    );
    await expect(Worker.runReplayHistory(await options(), parseHistory(text))).rejects.toThrow(
      /nondeterminism/i,
    );
  });
});
