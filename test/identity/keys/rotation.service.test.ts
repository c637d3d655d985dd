// Rotations against a real database: begun, switched by an authentication, ended by each happening; no workflow takes
// part.
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { RequestContext } from '../../../src/platform/context.ts';
import { useTestDatabase } from '../../setup/database.ts';
import { PATIENCE } from '../../setup/patience.ts';
import { createTestLog } from '../../setup/platform.ts';
import {
  createRooms,
  createTestAgent,
  createTestTenant,
  insertRefreshToken,
  readAudit,
  readEvents,
} from '../agents/agent-rooms.ts';
import { beginRotation, newKeyPair, type RotationCase, readCommands } from './rotation-case.ts';

let context: RequestContext;
const errors: unknown[] = [];

const { database } = await useTestDatabase();
const rooms = createRooms(database, { log: createTestLog((line) => errors.push(line)) });
beforeEach(async () => {
  context = await createTestTenant(rooms);
});

const begin = (options?: Parameters<typeof beginRotation>[2]) => beginRotation(rooms, context, options);
const actions = async () => (await readAudit(database, context.tenant.id)).map(({ action }) => action);
const types = async () => (await readEvents(database, context.tenant.id)).map(({ type }) => type);
const nameOf = ({ rotation }: RotationCase) => ({ tenantId: context.tenant.id, keyId: rotation.oldKeyId });
/** As if so many seconds had passed for the old key and its rotation. */
const pass = async ({ rotation }: RotationCase, seconds: number) => {
  await database.query(
    'UPDATE agent_keys SET sunset_at = sunset_at - make_interval(secs => $2) WHERE id = $1',
    [rotation.oldKeyId, seconds],
  );
  await database.query(
    'UPDATE key_rotations SET deadline_at = deadline_at - make_interval(secs => $2) WHERE id = $1',
    [rotation.id, seconds],
  );
};

describe('beginning', () => {
  it('registers the new key and the rotation together, records both, and asks for the workflow', async () => {
    const one = await begin({ overlapSeconds: 60, deadlineSeconds: 120 });
    expect(one.rotation).toMatchObject({
      agentId: one.agent.id,
      oldKeyId: one.oldKey.id,
      state: 'waiting_for_switch',
      endReason: null,
      overlapSeconds: 60,
      switchedAt: null,
      stalledAt: null,
      sunsetAt: null,
      endedAt: null,
    });
    expect(one.rotation.deadlineAt.getTime() - one.rotation.createdAt.getTime()).toBe(120_000);
    expect(await one.readKey(one.newKey.id)).toMatchObject({ state: 'active', verifiedAt: null });
    expect((await actions()).slice(-2)).toEqual(['agent.key.registered', 'agent.key.rotation.started']);
    expect((await types()).at(-1)).toBe('admin.agent.key.registered');
    expect(await readCommands(rooms, context.tenant.id)).toEqual([one.oldKey.id]);
  });

  it('leaves nothing of the new key behind when it is refused', async () => {
    const one = await begin();
    const next = newKeyPair();
    const again = rooms.rotations.begin(context, one.agent.id, { oldKeyId: one.oldKey.id, ...next });
    await expect(again).rejects.toMatchObject({
      code: 'conflict',
      detail: expect.stringContaining(one.rotation.id),
    });
    await rooms.keys.register(context, one.agent.id, next);
  });

  it('is done once, of any number at the same time', async () => {
    const { agent, key } = await createTestAgent(rooms, context);
    const outcomes = await Promise.allSettled(
      Array.from({ length: 5 }, () =>
        rooms.rotations.begin(context, agent.id, { oldKeyId: key.id, ...newKeyPair() }),
      ),
    );
    const refusals = outcomes.filter((outcome) => outcome.status === 'rejected');
    expect(refusals.map(({ reason }) => reason.code)).toEqual(Array(4).fill('conflict'));
  });

  it('refuses a key of another agent or tenant, a revoked one, one that comes in a rotation, and a known new key', async () => {
    const one = await begin();
    const stranger = await createTestAgent(rooms, context);
    const other = await createTestAgent(rooms, await createTestTenant(rooms));
    const attempt = (oldKeyId: string, next = newKeyPair()) =>
      rooms.rotations.begin(context, one.agent.id, { oldKeyId, ...next });
    for (const { key } of [stranger, other])
      await expect(attempt(key.id)).rejects.toMatchObject({
        code: 'invalid_request',
        errors: [{ path: 'body.old_key_id' }],
      });
    await expect(attempt(one.newKey.id)).rejects.toMatchObject({ code: 'conflict' });
    await rooms.rotations.cancel(context, one.agent.id, one.rotation.id);
    await expect(
      attempt(one.oldKey.id, { ...newKeyPair(), publicKey: one.newKey.publicKey }),
    ).rejects.toMatchObject({
      code: 'key_exists',
    });
    await rooms.keys.revoke(context, one.agent.id, one.oldKey.id);
    await expect(attempt(one.oldKey.id)).rejects.toMatchObject({ code: 'conflict' });
    await expect(
      rooms.rotations.begin(context, other.agent.id, { oldKeyId: other.key.id, ...newKeyPair() }),
    ).rejects.toMatchObject({ code: 'not_found' });
  });

  it('begins at the second step with a deprecated key, whose sunset stays', async () => {
    const { agent, key } = await createTestAgent(rooms, context);
    const { sunsetAt } = await rooms.keys.deprecate(context, agent.id, key.id, { sunsetAfterSeconds: 900 });
    const rotation = await rooms.rotations.begin(context, agent.id, { oldKeyId: key.id, ...newKeyPair() });
    expect(rotation).toMatchObject({ state: 'overlapping', sunsetAt, switchedAt: null });
  });
});

describe('the switch', () => {
  it('gives the old key its sunset once the agent has authenticated with the new one', async () => {
    const one = await begin({ overlapSeconds: 3_600 });
    await one.useOld();
    expect((await one.read()).state).toBe('waiting_for_switch');
    await one.useNew();
    await vi.waitUntil(async () => (await one.read()).state === 'overlapping', PATIENCE);
    const { switchedAt, sunsetAt } = await one.read();
    expect(sunsetAt?.getTime()).toBe((switchedAt?.getTime() ?? 0) + 3_600_000);
    expect(await one.readKey(one.oldKey.id)).toMatchObject({ state: 'deprecated', sunsetAt });
    expect((await one.useOld()).warnings).toHaveProperty('sunset');
    expect((await one.useNew()).warnings).toEqual({});
    const log = await readAudit(database, context.tenant.id);
    const made = log.filter(({ action }) => /rotation\.switched|key\.deprecated/.test(action));
    expect(made.map(({ action, actor_kind }) => [action, actor_kind])).toEqual([
      ['agent.key.rotation.switched', 'service'],
      ['agent.key.deprecated', 'service'],
    ]);
    expect((await types()).filter((type) => type === 'admin.agent.key.deprecated')).toHaveLength(1);
    expect(errors).toEqual([]);
  });

  it('is committed with the authentication: nothing is lost when nobody follows it immediately', async () => {
    const deaf = createRooms(database, { accounts: rooms });
    const one = await beginRotation(
      {
        ...deaf,
        challenges: createRooms(
          { ...database, transaction: () => Promise.reject(new Error('gone')) },
          { accounts: rooms },
        ).challenges,
      },
      context,
    );
    const before = await readCommands(rooms, context.tenant.id);
    await one.useNew();
    expect((await readCommands(rooms, context.tenant.id)).slice(before.length)).toEqual([one.oldKey.id]);
    expect((await one.read()).state).toBe('waiting_for_switch');
    expect(await rooms.rotationSteps.look(nameOf(one))).toMatchObject({ step: { kind: 'switch' } });
    const standings = await Promise.all(
      [1, 2, 3].map(() => rooms.rotationSteps.perform(nameOf(one), 'switch')),
    );
    for (const { step, rotation } of standings)
      expect([step.kind, rotation]).toEqual(['wait', 'overlapping']);
    expect((await actions()).filter((action) => action === 'agent.key.deprecated')).toHaveLength(1);
  });

  it('is told once, however often the agent authenticates', async () => {
    const one = await begin();
    await one.useNew();
    await vi.waitUntil(async () => (await one.read()).state === 'overlapping', PATIENCE);
    const told = await readCommands(rooms, context.tenant.id);
    await Promise.all([one.useNew(), one.useNew(), one.useOld()]);
    expect(await readCommands(rooms, context.tenant.id)).toEqual(told);
  });

  it('only is noted when the old key has a sunset by hand', async () => {
    const one = await begin({ overlapSeconds: 1 });
    const { sunsetAt } = await rooms.keys.deprecate(context, one.agent.id, one.oldKey.id, {
      sunsetAfterSeconds: 900,
    });
    await one.useNew();
    await vi.waitUntil(async () => (await one.read()).switchedAt !== null, PATIENCE);
    expect(await one.read()).toMatchObject({ state: 'overlapping', sunsetAt });
  });
});

describe('time', () => {
  it('warns once when the deadline passes without a switch, and goes on waiting', async () => {
    const one = await begin({ deadlineSeconds: 60 });
    expect((await rooms.rotationSteps.perform(nameOf(one), 'warn')).step).toMatchObject({ kind: 'wait' });
    expect((await one.read()).stalledAt).toBeNull();
    await pass(one, 60);
    expect((await rooms.rotationSteps.look(nameOf(one))).step.kind).toBe('warn');
    for (let n = 0; n < 2; n++)
      expect((await rooms.rotationSteps.perform(nameOf(one), 'warn')).step).toMatchObject({
        kind: 'wait',
        reason: 'switch',
      });
    expect((await one.read()).stalledAt).toBeInstanceOf(Date);
    const warnings = (await readEvents(database, context.tenant.id)).filter(
      ({ type }) => type === 'admin.agent.key.rotation_stalled',
    );
    expect(warnings.map(({ data }) => data)).toEqual([
      expect.objectContaining({ rotation_id: one.rotation.id, agent_id: one.agent.id }),
    ]);
    await one.useNew();
    await vi.waitUntil(async () => (await one.read()).state === 'overlapping', PATIENCE);
  });

  it('revokes the old key at its sunset, with its tokens, and completes the rotation', async () => {
    const one = await begin({ overlapSeconds: 60 });
    await one.useNew();
    await vi.waitUntil(async () => (await one.read()).state === 'overlapping', PATIENCE);
    const reasonOf = await insertRefreshToken(rooms, context, {
      agentId: one.agent.id,
      keyId: one.oldKey.id,
    });
    expect((await rooms.rotationSteps.perform(nameOf(one), 'revoke')).key).toBe('deprecated');
    await pass(one, 60);
    expect(await rooms.rotationSteps.perform(nameOf(one), 'revoke')).toMatchObject({
      step: { kind: 'end' },
      key: 'revoked',
      rotation: 'completed',
    });
    expect(await one.read()).toMatchObject({ state: 'completed', endReason: 'sunset_reached' });
    expect(await reasonOf()).toBe('key_revoked');
    await expect(one.useOld()).rejects.toMatchObject({ code: 'key_revoked' });
    await one.useNew();
    expect((await types()).at(-1)).not.toBe('admin.agent.key.revoked');
    expect((await types()).filter((type) => type === 'admin.agent.key.revoked')).toHaveLength(1);
    expect((await actions()).filter((action) => action === 'agent.key.rotation.completed')).toHaveLength(1);
  });

  it('revokes a key that was deprecated by hand, without any rotation', async () => {
    const { agent, key } = await createTestAgent(rooms, context);
    await rooms.keys.deprecate(context, agent.id, key.id, { sunsetAfterSeconds: 60 });
    expect(await readCommands(rooms, context.tenant.id)).toEqual([key.id]);
    const name = { tenantId: context.tenant.id, keyId: key.id };
    expect((await rooms.rotationSteps.look(name)).step).toMatchObject({ kind: 'wait', reason: 'sunset' });
    await database.query("UPDATE agent_keys SET sunset_at = now() - interval '1 s' WHERE id = $1", [key.id]);
    expect(await rooms.rotationSteps.perform(name, 'revoke')).toMatchObject({
      key: 'revoked',
      rotation: null,
    });
  });
});

describe('by hand meanwhile', () => {
  type Act = 'deprecateOld' | 'revokeOld' | 'deprecateNew' | 'revokeNew' | 'cancel' | 'deleteAgent';
  const act = (one: RotationCase, what: Act): Promise<unknown> => {
    const { agent, oldKey, newKey, rotation } = one;
    if (what === 'cancel') return rooms.rotations.cancel(context, agent.id, rotation.id);
    if (what === 'deleteAgent') return rooms.agents.remove(context, agent.id);
    const id = what.endsWith('Old') ? oldKey.id : newKey.id;
    return what.startsWith('revoke')
      ? rooms.keys.revoke(context, agent.id, id)
      : rooms.keys.deprecate(context, agent.id, id, { sunsetAfterSeconds: 900 });
  };

  it.each<[string, Act, string, string | null, [oldKey: string, newKey: string]]>([
    ['waiting_for_switch', 'deprecateOld', 'overlapping', null, ['deprecated', 'active']],
    ['waiting_for_switch', 'revokeOld', 'completed', 'old_key_revoked', ['revoked', 'active']],
    ['waiting_for_switch', 'deprecateNew', 'aborted', 'new_key_deprecated', ['active', 'deprecated']],
    ['waiting_for_switch', 'revokeNew', 'aborted', 'new_key_revoked', ['active', 'revoked']],
    ['waiting_for_switch', 'cancel', 'canceled', 'canceled', ['active', 'active']],
    ['overlapping', 'deprecateOld', 'overlapping', null, ['deprecated', 'active']],
    ['overlapping', 'revokeOld', 'completed', 'old_key_revoked', ['revoked', 'active']],
    ['overlapping', 'deprecateNew', 'overlapping', null, ['deprecated', 'deprecated']],
    ['overlapping', 'revokeNew', 'aborted', 'new_key_revoked', ['deprecated', 'revoked']],
  ])('%s, then %s: %s', async (before, what, state, endReason, keys) => {
    const one = await begin();
    if (before === 'overlapping') {
      await one.useNew();
      await vi.waitUntil(async () => (await one.read()).state === before, PATIENCE);
    }
    const told = await readCommands(rooms, context.tenant.id);
    await act(one, what);
    expect(await one.read()).toMatchObject({ state, endReason });
    expect([(await one.readKey(one.oldKey.id)).state, (await one.readKey(one.newKey.id)).state]).toEqual(
      keys,
    );
    expect((await readCommands(rooms, context.tenant.id)).slice(told.length)).toContain(one.oldKey.id);
    if (endReason !== null) expect((await actions()).at(-1)).toBe(`agent.key.rotation.${state}`);
    const { step } = await rooms.rotationSteps.look(nameOf(one));
    expect(step.kind).toBe(keys[0] === 'deprecated' ? 'wait' : 'end');
  });

  it('a cancel comes too late once the old key has its sunset, and after another end; again it does nothing', async () => {
    const one = await begin();
    await act(one, 'cancel');
    const log = await actions();
    expect(await act(one, 'cancel')).toMatchObject({ state: 'canceled' });
    expect(await actions()).toEqual(log);
    const two = await begin();
    await act(two, 'deprecateOld');
    await expect(act(two, 'cancel')).rejects.toMatchObject({ code: 'conflict' });
    await act(two, 'revokeOld');
    await expect(act(two, 'cancel')).rejects.toMatchObject({ code: 'conflict' });
  });

  it('an authentication with the new key after a cancel changes nothing', async () => {
    const one = await begin();
    await act(one, 'cancel');
    await one.useNew();
    expect(await one.readKey(one.oldKey.id)).toMatchObject({ state: 'active', sunsetAt: null });
    expect((await rooms.rotationSteps.perform(nameOf(one), 'switch')).rotation).toBe('canceled');
  });

  it('a deleted agent takes its rotations with it, and their workflows are told', async () => {
    const one = await begin();
    const told = await readCommands(rooms, context.tenant.id);
    await act(one, 'deleteAgent');
    await expect(one.read()).rejects.toMatchObject({ code: 'not_found' });
    expect((await readCommands(rooms, context.tenant.id)).slice(told.length)).toEqual([one.oldKey.id]);
    expect(await rooms.rotationSteps.perform(nameOf(one), 'revoke')).toMatchObject({
      step: { kind: 'end' },
      key: 'gone',
      rotation: null,
    });
  });
});

it('lists rotations by pages and state, the newest first, and none of other agents', async () => {
  const one = await begin();
  await begin();
  await rooms.rotations.cancel(context, one.agent.id, one.rotation.id);
  const second = await rooms.rotations.begin(context, one.agent.id, {
    oldKeyId: one.oldKey.id,
    ...newKeyPair(),
  });
  const list = (request: object) => rooms.rotations.list(context, one.agent.id, { limit: 1, ...request });
  const first = await list({});
  expect(first.data.map(({ id }) => id)).toEqual([second.id]);
  const rest = await list({ cursor: first.nextCursor ?? '' });
  expect([rest.data.map(({ id }) => id), rest.nextCursor]).toEqual([[one.rotation.id], null]);
  expect((await list({ state: 'canceled' })).data.map(({ id }) => id)).toEqual([one.rotation.id]);
});
