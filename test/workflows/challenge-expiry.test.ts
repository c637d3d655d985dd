// challengeExpiry with everything real: one workflow a bucket whatever the number of processes and challenges, and what
// it does.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { challengeExpiryWorkflowId } from '../../src/platform/temporal/names.ts';
import type { ChallengeExpiryState } from '../../workflows/challenge-expiry.ts';
import { answer, ask } from '../authentication/challenges/answer.ts';
import { createTestAgent } from '../identity/agents/agent-rooms.ts';
import { type ChallengeExpiryEngine, createChallengeExpiryEngine } from './challenge-expiry-engine.ts';
import { eventually } from './delivery-engine.ts';

// Each its own: a bucket's workflow sweeps whatever is there, also what another test has put there.
let engine: ChallengeExpiryEngine;
const useEngine = (options?: Parameters<typeof createChallengeExpiryEngine>[0]) => {
  beforeAll(async () => {
    engine = await createChallengeExpiryEngine(options);
  });
  afterEach(() => engine.stopWorkers());
  afterAll(() => engine.close());
};

const stateOf = (handle: { query: (name: string) => Promise<unknown> }) =>
  handle.query('state') as Promise<ChallengeExpiryState>;

describe('the keepers of several processes', () => {
  useEngine();

  it('start the current and the next bucket once, also one that was ended by hand', async () => {
    const keepers = await Promise.all(Array.from({ length: 5 }, () => engine.createKeeper()));
    const started = (await Promise.all(keepers.map((keeper) => keeper.look()))).flat();
    // Two, or three when the minute changed meanwhile.
    expect(new Set(started).size).toBe(started.length);
    expect(started.length).toBeGreaterThanOrEqual(2);
    expect(started.length).toBeLessThanOrEqual(3);
    const [first = ''] = started;
    await engine.client.workflow.getHandle(challengeExpiryWorkflowId(first)).terminate('by hand');
    const later = await (await engine.createKeeper()).look();
    expect(later).not.toContain(first);
    for (const name of started.slice(1)) {
      const { status } = await engine.client.workflow.getHandle(challengeExpiryWorkflowId(name)).describe();
      expect(status.name).toBe('RUNNING');
    }
  });
});

describe('challenges at a high rate', () => {
  useEngine({ challengeLifetime: 1 });

  it('start no more workflows than the buckets of the time, whatever the number of challenges, each of which is counted once', async () => {
    const LENGTH = 2_000;
    await engine.startWorker();
    const keepers = await Promise.all(Array.from({ length: 3 }, () => engine.createKeeper(LENGTH)));
    const agents = await Promise.all(
      Array.from({ length: 4 }, () => createTestAgent(engine.rooms, engine.context)),
    );
    const began = Date.now();
    const running = keepers.map((keeper) => keeper.start());
    let issued = 0;
    let used = 0;
    const request = async (agent: (typeof agents)[number]) => {
      do {
        const challenges = await Promise.all(
          Array.from({ length: 25 }, () => ask(engine.rooms, engine.context, agent.fingerprint)),
        );
        issued += challenges.length;
        const [first] = challenges;
        if (first === undefined) continue;
        const verified = engine.rooms.challenges.verify(engine.context, answer(first, agent));
        if (await verified.then(() => true).catch(() => false)) used += 1;
      } while (Date.now() - began < 6_000);
    };
    await Promise.all(agents.map(request));
    const counted = async () => (await engine.lines()).reduce((sum, { count }) => sum + count, 0);
    await eventually(async () => (await counted()) === issued - used, 'all to be counted');
    for (const keeper of running) await keeper.stop();
    const buckets = Math.ceil((Date.now() - began) / LENGTH) + 2;
    const lines = await engine.lines();
    const workflows = await eventually(async () => {
      const ids = await engine.listWorkflows();
      return lines.every(({ bucket }) => ids.includes(challengeExpiryWorkflowId(bucket))) && ids;
    }, 'all workflows to be visible');
    expect(workflows.length).toBeGreaterThan(2);
    expect(workflows.length).toBeLessThanOrEqual(buckets);
    expect(new Set(workflows).size).toBe(workflows.length);
    expect(issued).toBeGreaterThan(2 * workflows.length);
    expect(new Set(lines.map(({ bucket }) => bucket)).size).toBe(lines.length);
    expect(engine.failures).toEqual([]);
  });
});

describe('the workflow of a bucket', () => {
  useEngine();
  beforeEach(() => engine.rewind());

  it('waits until the bucket is over, and then marks all that is overdue', async () => {
    await engine.startWorker();
    await engine.ended(3, 5 * 3_600);
    await engine.ended(2, 40);
    const handle = await engine.begin(2_000);
    const waiting = await eventually(() => stateOf(handle).catch(() => undefined), 'its state');
    expect(waiting).toMatchObject({ doing: 'waiting', until: expect.any(String), expired: 0 });
    expect(await handle.result()).toEqual({ expired: 5, audited: 5, tenants: 1 });
    expect(await stateOf(handle)).toMatchObject({ doing: 'ended', until: null, expired: 5 });
    const { typedSearchAttributes } = await handle.describe();
    expect(JSON.stringify(typedSearchAttributes)).toMatch(/EntityState.*auditing/);
  });

  it('sweeps immediately when an operator asks, in whose name it is audited, and refuses what makes no sense', async () => {
    await engine.startWorker();
    await engine.ended(2, 40);
    const handle = await engine.begin(600_000);
    await expect(handle.executeUpdate('sweepNow', { args: ['x'.repeat(501)] })).rejects.toMatchObject({
      cause: { message: expect.stringMatching(/500 characters/) },
    });
    await handle.executeUpdate('sweepNow', { args: ['asked by phone'] });
    expect(await handle.result()).toMatchObject({ expired: 2, audited: 2 });
    expect((await engine.lines()).at(-1)).toMatchObject({
      count: 2,
      actor: `operator ${engine.client.options.identity}`,
      reason: 'asked by phone',
    });
  });

  it('goes on when Temporal is asked to cancel it, and says so', async () => {
    await engine.startWorker();
    const run = await engine.begin(2_000);
    await run.cancel();
    const details = () => run.query<{ currentDetails: string }>('__temporal_workflow_metadata');
    await eventually(
      async () => (await details()).currentDetails.startsWith('Cancellation was requested, and ends nothing'),
      'its details',
    );
    await run.result();
    expect((await run.describe()).status.name).toBe('COMPLETED');
  });

  it('goes on after a failure without counting twice', async () => {
    const service = engine.serviceWith({ chunk: 1, budget: -1 });
    let calls = 0;
    await engine.startWorker({
      ...service,
      sweep: async (pulse) => {
        const result = await service.sweep(pulse);
        calls += 1;
        if (calls === 3) throw new Error('the worker has lost its answer');
        return result;
      },
    });
    const before = (await engine.lines()).length;
    for (let seconds = 10; seconds < 20; seconds += 1) await engine.ended(1, seconds);
    const handle = await engine.begin(0);
    expect(await handle.result()).toMatchObject({ audited: 10 });
    expect((await engine.lines()).slice(before).map(({ count }) => count)).toEqual([10]);
  });

  it('begins anew before its history is long', async () => {
    await engine.startWorker(engine.serviceWith({ chunk: 1, budget: -1 }));
    for (let seconds = 10; seconds < 260; seconds += 1) await engine.ended(1, seconds);
    const handle = await engine.begin(1_000);
    const { runId } = await handle.describe();
    expect(await handle.result()).toEqual({ expired: 250, audited: 250, tenants: 1 });
    const first = engine.client.workflow.getHandle(handle.workflowId, runId);
    const { status, historyLength } = await first.describe();
    expect(status.name).toBe('CONTINUED_AS_NEW');
    expect(historyLength).toBeLessThan(1_000);
  });

  it('is not run twice by workers that stop while it waits', async () => {
    const first = await engine.startWorker();
    const handle = await engine.begin(3_000);
    await eventually(() => stateOf(handle).catch(() => undefined), 'its state');
    await first();
    await sleep(10);
    await engine.startWorker();
    expect(await handle.result()).toMatchObject({ expired: 0, audited: 0 });
  });
});
