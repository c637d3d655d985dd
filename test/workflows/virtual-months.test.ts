// Rotations that take months, in virtual time: what is warned of, moved and canceled meanwhile, and the histories that
// this makes.
import { Worker } from '@temporalio/worker';
import { afterAll, describe, expect, it } from 'vitest';
import { answer, ask } from '../authentication/challenges/answer.ts';
import { createTestAgent, readAudit, readEvents } from '../identity/agents/agent-rooms.ts';
import { newKeyPair } from '../identity/keys/rotation-case.ts';
import { workflowBundle } from '../setup/workflow-bundle.ts';
import { eventually } from './delivery-engine.ts';
import { createMonthsEngine, DAY } from './virtual-months.ts';

const SECONDS = DAY / 1_000;
/** Events that one run may have. */
const LONGEST = 1_000;

const engine = await createMonthsEngine();
engine.startRunner();
await engine.startWorker();
afterAll(() => engine.close());

const eventsOf = async (agentId: string) =>
  (await readEvents(engine.database, engine.context.tenant.id))
    .filter(({ type, data }) => data.agent_id === agentId && type.startsWith('admin.agent.key.'))
    .map(({ type }) => type.slice('admin.agent.key.'.length));

/** Replays each run of a key's workflow, and holds its length to the bound. @param expected runs, at least */
async function replayAll(keyId: string, expected: number): Promise<void> {
  const runs = await eventually(async () => {
    const found = await engine.runsOf(keyId);
    return found.length >= expected && found;
  }, `${expected} runs to be listed`);
  for (const { runId } of runs) {
    const history = await engine.client.workflow.getHandle(`key-rotation/${keyId}`, runId).fetchHistory();
    expect(history.events?.length).toBeLessThanOrEqual(LONGEST);
    await Worker.runReplayHistory({ workflowBundle: await workflowBundle(), reuseV8Context: true }, history);
  }
}

describe('over months', () => {
  it('warns once, waits on for months, lets the sunset be moved by hand, and ends at that', async () => {
    const one = await engine.begin({ deadlineSeconds: 40 * SECONDS, overlapSeconds: 28 * SECONDS });
    const { id } = one.oldKey;
    await engine.does(id, 'waiting for the switch');
    const run = await engine.runOf(id);
    const summary = JSON.parse(await summaryOf(id));
    await engine.pass(id, 39, { daily: true });
    expect(await one.read()).toMatchObject({ state: 'waiting_for_switch', stalledAt: null });
    await engine.pass(id, 2, { daily: true });
    const { stalledAt, deadlineAt } = await one.read();
    expect(stalledAt?.getTime()).toBeGreaterThanOrEqual(deadlineAt.getTime());
    expect(stalledAt?.getTime()).toBeLessThan(deadlineAt.getTime() + DAY);
    await engine.pass(id, 50, { daily: true });
    expect(await engine.stateOf(id)).toMatchObject({ doing: 'waiting for the switch', stalled: true });
    expect(await engine.runOf(id)).not.toBe(run);
    // Temporal does not carry the static summary into the next run; there it stands in the details.
    expect(await detailsOf(id)).toContain(`${summary}: Waits for the agent.`);
    await one.useOld();
    await one.useNew();
    await engine.does(id, 'waiting for the sunset');
    const { switchedAt, sunsetAt } = await one.read();
    expect(sunsetAt?.getTime()).toBe((switchedAt?.getTime() ?? 0) + 28 * DAY);
    await engine.pass(id, 20);
    const moved = new Date((sunsetAt?.getTime() ?? 0) + 30 * DAY);
    await engine.rooms.keys.deprecate(engine.context, one.agent.id, id, { sunsetAt: moved });
    await engine.pass(id, 37);
    await one.useOld();
    await engine.pass(id, 2);
    await expect(one.useOld()).rejects.toMatchObject({ code: 'key_revoked' });
    await one.useNew();
    expect(await engine.workflow(id).result()).toEqual({ key: 'revoked', rotation: 'completed' });
    expect(await one.readKey(id)).toMatchObject({ state: 'revoked', sunsetAt: moved });
    expect(await eventsOf(one.agent.id)).toEqual(
      expect.arrayContaining(['rotation_stalled', 'deprecated', 'deprecated', 'revoked']),
    );
    expect((await eventsOf(one.agent.id)).filter((type) => type === 'rotation_stalled')).toHaveLength(1);
    // About eleven events a day, and never more than a run may have.
    await replayAll(id, 2);
  });

  it('does nothing more once it was canceled', async () => {
    const one = await engine.begin({ deadlineSeconds: 90 * SECONDS });
    const { id } = one.oldKey;
    await engine.does(id, 'waiting for the switch');
    await engine.pass(id, 60);
    await engine.rooms.rotations.cancel(engine.context, one.agent.id, one.rotation.id);
    expect(await engine.workflow(id).result()).toEqual({ key: 'active', rotation: 'canceled' });
    const before = await eventsOf(one.agent.id);
    await engine.pass(id, 120);
    await one.useOld();
    await one.useNew();
    expect(await one.read()).toMatchObject({ state: 'canceled', stalledAt: null, sunsetAt: null });
    const after = await eventsOf(one.agent.id);
    expect(after.filter((type) => type !== 'verified')).toEqual(before);
    await replayAll(id, 1);
  });

  it('twelve rotations of one agent, one a month, each end at their own sunset', async () => {
    const { rooms, context } = engine;
    const first = await createTestAgent(rooms, context);
    const signIn = async (key: ReturnType<typeof newKeyPair>) =>
      rooms.challenges.verify(context, answer(await ask(rooms, context, key.fingerprint), key));
    let present = { id: first.key.id, pair: { ...first, publicKey: '' } as ReturnType<typeof newKeyPair> };
    const gone: string[] = [];
    for (let month = 0; month < 12; month += 1) {
      const next = newKeyPair();
      const rotation = await rooms.rotations.begin(context, first.agent.id, {
        oldKeyId: present.id,
        ...next,
        overlapSeconds: 14 * SECONDS,
      });
      await engine.does(present.id, 'waiting for the switch');
      await engine.pass(present.id, 3);
      await signIn(present.pair);
      await signIn(next);
      await engine.does(present.id, 'waiting for the sunset');
      await engine.pass(present.id, 13);
      await Promise.all([signIn(present.pair), signIn(next)]);
      await engine.pass(present.id, 14);
      await expect(signIn(present.pair)).rejects.toMatchObject({ code: 'key_revoked' });
      await signIn(next);
      expect(await engine.workflow(present.id).result()).toEqual({ key: 'revoked', rotation: 'completed' });
      const { switchedAt, sunsetAt, endedAt } = await rooms.rotations.get(
        context,
        first.agent.id,
        rotation.id,
      );
      expect(sunsetAt?.getTime()).toBe((switchedAt?.getTime() ?? 0) + 14 * DAY);
      expect((endedAt?.getTime() ?? 0) - (sunsetAt?.getTime() ?? 0)).toBeGreaterThanOrEqual(0);
      expect((endedAt?.getTime() ?? 0) - (sunsetAt?.getTime() ?? 0)).toBeLessThan(DAY);
      gone.push(present.id);
      present = { id: rotation.newKeyId, pair: next };
    }
    const types = await eventsOf(first.agent.id);
    const count = (name: string) => types.filter((type) => type === name).length;
    expect(['registered', 'verified', 'deprecated', 'revoked', 'rotation_stalled'].map(count)).toEqual([
      13, 13, 12, 12, 0,
    ]);
    const log = await readAudit(engine.database, context.tenant.id);
    const completed = log.filter(
      ({ action, key_id }) => action === 'agent.key.rotation.completed' && gone.includes(String(key_id)),
    );
    expect(completed.map(({ key_id }) => key_id)).toEqual(gone);
    for (const id of gone) await replayAll(id, 1);
  });
});

async function summaryOf(keyId: string): Promise<string> {
  const { raw } = await engine.workflow(keyId).describe();
  return Buffer.from(raw.executionConfig?.userMetadata?.summary?.data ?? []).toString();
}

/** What the Temporal UI shows of what it waits for. */
async function detailsOf(keyId: string): Promise<string> {
  const { currentDetails } = await engine
    .workflow(keyId)
    .query<{ currentDetails: string }>('__temporal_workflow_metadata');
  return currentDetails;
}
