// agentKeyRotation against a real Temporal and a real Postgres: each way through a rotation, and each part away for a
// while.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestAgent, readAudit, readEvents } from '../identity/agents/agent-rooms.ts';
import { eventually } from './delivery-engine.ts';
import { createKeyRotationEngine } from './key-rotation-engine.ts';

const engine = await createKeyRotationEngine();
afterAll(() => engine.close());

describe('with everything there', () => {
  const stops: (() => Promise<void>)[] = [];
  beforeAll(async () => {
    stops.push(engine.startRunner(), await engine.startWorker());
  });
  afterAll(async () => {
    await engine.toldAll();
    for (const stop of stops) await stop();
  });

  it('waits for the agent, deprecates the old key when it has switched, and revokes it at the sunset', async () => {
    const one = await engine.begin({ overlapSeconds: 600 });
    const { id } = one.oldKey;
    const waiting = await engine.does(id, 'waiting for the switch');
    expect(waiting).toMatchObject({ rotation: 'waiting_for_switch', key: 'active', stalled: false });
    expect(waiting.deadlineAt).toBe(one.rotation.deadlineAt.toISOString());
    const run = await engine.runOf(id);
    await one.useNew();
    await one.useOld();
    const overlapping = await engine.does(id, 'waiting for the sunset');
    expect(overlapping.sunsetAt).toBe((await one.read()).sunsetAt?.toISOString());
    await engine.rooms.keys.deprecate(engine.context, one.agent.id, id, { sunsetAfterSeconds: 1 });
    await engine.reaches(one, 'completed');
    expect(await engine.workflow(id).result()).toEqual({ key: 'revoked', rotation: 'completed' });
    expect(await one.readKey(id)).toMatchObject({ state: 'revoked' });
    await engine.toldAll();
    expect(await engine.runOf(id)).toBe(run);
    await expect(one.useOld()).rejects.toMatchObject({ code: 'key_revoked' });
    await one.useNew();
    const types = (await readEvents(engine.database, engine.context.tenant.id)).map(({ type }) => type);
    expect(types.filter((type) => type === 'admin.agent.key.revoked')).toHaveLength(1);
  });

  it('is found by tenant, agent and state, tells what it is about, and holds no secret', async () => {
    const one = await engine.begin();
    const { id } = one.oldKey;
    await engine.does(id, 'waiting for the switch');
    const handle = engine.workflow(id);
    const described = await handle.describe();
    const { userMetadata } = described.raw.executionConfig ?? {};
    const summary = Buffer.from(userMetadata?.summary?.data ?? []).toString();
    expect(summary).toContain(`ed25519 · ${one.oldKey.fingerprint.slice(0, 16)}`);
    const query = `TenantId="${engine.context.tenant.id}" AND AgentId="${one.agent.id}" AND EntityState="waiting_for_switch"`;
    await eventually(async () => (await engine.client.workflow.count(query)).count === 1, 'its visibility');
    const texts = textsIn(await handle.fetchHistory());
    expect(texts).toContain(id);
    for (const secret of [one.newKey.fingerprint, one.oldKey.fingerprint, one.agent.name])
      expect(texts).not.toContain(secret);
    await engine.rooms.rotations.cancel(engine.context, one.agent.id, one.rotation.id);
    expect(await handle.result()).toEqual({ key: 'active', rotation: 'canceled' });
  });

  it('warns once when the switch stalls, and goes on when it comes after all', async () => {
    const one = await engine.begin({ deadlineSeconds: 1, overlapSeconds: 1 });
    await eventually(async () => (await one.read()).stalledAt !== null, 'the warning');
    await eventually(async () => (await engine.stateOf(one.oldKey.id)).stalled, 'its state');
    await one.useNew();
    await engine.reaches(one, 'completed');
    expect(await engine.workflow(one.oldKey.id).result()).toEqual({ key: 'revoked', rotation: 'completed' });
    const warnings = (await readEvents(engine.database, engine.context.tenant.id)).filter(
      ({ type, data }) => type === 'admin.agent.key.rotation_stalled' && data.rotation_id === one.rotation.id,
    );
    expect(warnings).toHaveLength(1);
  });

  it('is the same workflow for a deprecation by hand, begun at its second step', async () => {
    const { agent, key } = await createTestAgent(engine.rooms, engine.context);
    await engine.rooms.keys.deprecate(engine.context, agent.id, key.id, { sunsetAfterSeconds: 600 });
    const far = await engine.does(key.id, 'waiting for the sunset');
    expect(far).toMatchObject({ key: 'deprecated', rotation: null });
    await engine.rooms.keys.deprecate(engine.context, agent.id, key.id, { sunsetAfterSeconds: 1 });
    expect(await engine.workflow(key.id).result()).toEqual({ key: 'revoked', rotation: null });
    const log = await readAudit(engine.database, engine.context.tenant.id);
    const revoked = log.find((row) => row.action === 'agent.key.revoked' && row.key_id === key.id);
    expect(revoked).toMatchObject({ actor_kind: 'service', data: { reason: 'sunset' } });
  });

  it.each([
    ['the old key is revoked by hand', 'old', { key: 'revoked', rotation: 'completed' }],
    ['the new key is revoked by hand', 'new', { key: 'active', rotation: 'aborted' }],
  ] as const)('stops with a clear state when %s', async (_name, which, result) => {
    const one = await engine.begin();
    await engine.does(one.oldKey.id, 'waiting for the switch');
    const { id } = which === 'old' ? one.oldKey : one.newKey;
    await engine.rooms.keys.revoke(engine.context, one.agent.id, id);
    expect(await engine.workflow(one.oldKey.id).result()).toEqual(result);
  });

  it('ends when the agent is deleted', async () => {
    const one = await engine.begin();
    await engine.does(one.oldKey.id, 'waiting for the switch');
    await engine.rooms.agents.remove(engine.context, one.agent.id);
    expect(await engine.workflow(one.oldKey.id).result()).toEqual({ key: 'gone', rotation: null });
  });

  it('lets an operator cancel it, who is audited, and only while it waits for the agent', async () => {
    const one = await engine.begin();
    const handle = engine.workflow(one.oldKey.id);
    await engine.does(one.oldKey.id, 'waiting for the switch');
    const run = await engine.runOf(one.oldKey.id);
    await expect(handle.executeUpdate('cancel', { args: ['x'.repeat(501)] })).rejects.toThrow();
    await handle.executeUpdate('cancel', { args: ['asked by phone'] });
    expect(await handle.result()).toEqual({ key: 'active', rotation: 'canceled' });
    const log = await readAudit(engine.database, engine.context.tenant.id);
    expect(log.filter(({ target_id }) => target_id === one.rotation.id).at(-1)).toMatchObject({
      action: 'agent.key.rotation.canceled',
      actor_kind: 'operator',
      actor_id: engine.client.options.identity,
      data: { reason: 'asked by phone' },
    });
    await engine.toldAll();
    expect(await engine.runOf(one.oldKey.id)).toBe(run);
    const two = await engine.begin();
    await two.useNew();
    await engine.does(two.oldKey.id, 'waiting for the sunset');
    await expect(engine.workflow(two.oldKey.id).executeUpdate('cancel')).rejects.toThrow();
    expect((await two.read()).state).toBe('overlapping');
  });

  it('begins its history anew before it grows long, and misses nothing by that', async () => {
    const one = await engine.begin({ overlapSeconds: 1 });
    const { id } = one.oldKey;
    await engine.does(id, 'waiting for the switch');
    const run = await engine.runOf(id);
    await eventually(async () => {
      await Promise.all(Array.from({ length: 20 }, () => engine.workflow(id).signal('changed')));
      await engine.does(id, 'waiting for the switch');
      return (await engine.runOf(id)) !== run;
    }, 'another run');
    await one.useNew();
    await engine.reaches(one, 'completed');
    expect(await engine.workflow(id).result()).toEqual({ key: 'revoked', rotation: 'completed' });
  });

  it('runs again under the same id for the next rotation of the same key', async () => {
    const one = await engine.begin();
    const { id } = one.oldKey;
    await engine.does(id, 'waiting for the switch');
    await engine.rooms.rotations.cancel(engine.context, one.agent.id, one.rotation.id);
    await engine.workflow(id).result();
    await engine.rooms.keys.deprecate(engine.context, one.agent.id, id, { sunsetAfterSeconds: 1 });
    await eventually(async () => (await one.readKey(id)).state === 'revoked', 'the end of the old key');
    await eventually(
      async () => (await engine.workflow(id).describe()).status.name === 'COMPLETED',
      'the end of the second run',
    );
    expect(await engine.workflow(id).result()).toMatchObject({ key: 'revoked' });
  });
});

describe('with a part away', () => {
  it('answers without Temporal, does the switch, and finishes when Temporal is back', async () => {
    const failing = engine.startRunner(() => Promise.reject(new Error('Temporal is away')));
    const one = await engine.begin({ overlapSeconds: 1 });
    await one.useNew();
    await engine.reaches(one, 'overlapping');
    const { agent, key } = await createTestAgent(engine.rooms, engine.context);
    await engine.rooms.keys.deprecate(engine.context, agent.id, key.id, { sunsetAfterSeconds: 1 });
    await eventually(() => engine.failures.length > 2, 'some failures');
    await eventually(
      () =>
        one.useOld().then(
          () => false,
          (error) => error.code === 'key_revoked',
        ),
      'the sunset, which needs no workflow',
    );
    expect((await one.read()).state).toBe('overlapping');
    await failing();
    const stops = [engine.startRunner(), await engine.startWorker()];
    await engine.reaches(one, 'completed');
    await engine.workflow(one.oldKey.id).result();
    await eventually(
      async () =>
        (
          await engine.database.query('SELECT 1 FROM agent_keys WHERE id = $1 AND revoked_at IS NOT NULL', [
            key.id,
          ])
        ).rowCount > 0,
      'the revocation of the other key',
    );
    await engine.toldAll();
    for (const stop of stops) await stop();
  });

  it('goes on where it stood when the worker is back, whatever happened meanwhile', async () => {
    const stopRunner = engine.startRunner();
    const stopWorker = await engine.startWorker();
    const one = await engine.begin({ overlapSeconds: 600 });
    await engine.does(one.oldKey.id, 'waiting for the switch');
    await stopWorker();
    await one.useNew();
    await engine.reaches(one, 'overlapping');
    await engine.rooms.keys.deprecate(engine.context, one.agent.id, one.oldKey.id, { sunsetAfterSeconds: 1 });
    await engine.toldAll();
    const stop = await engine.startWorker();
    expect(await engine.workflow(one.oldKey.id).result()).toEqual({ key: 'revoked', rotation: 'completed' });
    await engine.toldAll();
    await stop();
    await stopRunner();
  });

  it('hands a command over again that a dead worker had taken, and several for one workflow together', async () => {
    await engine.toldAll();
    const one = await engine.begin();
    for (let n = 0; n < 5; n++)
      await engine.rooms.keys.deprecate(engine.context, one.agent.id, one.oldKey.id, {
        sunsetAfterSeconds: 600 + n,
      });
    // Taken by somebody who died; the lease has run out.
    await engine.database.query(
      "UPDATE workflow_commands SET tries = 1, claimable_at = now() - interval '1 s'",
    );
    let calls = 0;
    const stop = engine.startRunner(async (request) => {
      calls += 1;
      await engine.starter.tell(request);
    });
    await engine.toldAll();
    expect(calls).toBe(1);
    await stop();
  });
});

/** Everything that a history holds, as text. */
function textsIn(value: unknown): string {
  if (value instanceof Uint8Array) return Buffer.from(value).toString();
  if (typeof value !== 'object' || value === null) return String(value);
  return Object.values(value).map(textsIn).join('\n');
}
