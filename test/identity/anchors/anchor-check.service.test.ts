// What looks write down, with the real database: each is decided anew under the lock, whatever happened while it was
// under way.
import { afterAll, describe, expect, it } from 'vitest';
import type { AnchorCheckService } from '../../../src/identity/anchors/anchor-check.service.ts';
import { newId } from '../../../src/platform/database/ids.ts';
import { useTestDatabase } from '../../setup/database.ts';
import { createTestTenant, readAudit, readEvents } from '../agents/agent-rooms.ts';
import { createAnchorRooms } from './anchor-rooms.ts';

const { database } = await useTestDatabase();
const rooms = await createAnchorRooms(database);
const context = await createTestTenant(rooms);
afterAll(() => rooms.places.close());

let number = 0;

/** A pending anchor whose first look is due. */
async function begin() {
  const { id: agentId } = await rooms.agents.create(context, { name: 'Robot' });
  const value = `b${++number}.anchors.test`;
  const anchor = await rooms.anchors.create(context, agentId, { type: 'domain_dns', value });
  const name = { tenantId: context.tenant.id, id: anchor.id };
  const due = () => database.query('UPDATE anchors SET next_check_at = now() WHERE id = $1', [anchor.id]);
  await due();
  const countChanges = async (change: string) => ({
    audited: (await readAudit(database, name.tenantId)).filter(
      ({ action, target_id }) => action === `agent.anchor.${change}` && target_id === anchor.id,
    ).length,
    emitted: (await readEvents(database, name.tenantId)).filter(
      ({ type, data }) => type === `admin.agent.anchor.${change}` && data.anchor_id === anchor.id,
    ).length,
  });
  return { ...anchor, name, due, countChanges, read: () => rooms.anchors.get(context, agentId, anchor.id) };
}

/** Looks that end when the test says so, each with what it says. */
function createSlowLooks() {
  const under: ((outcome: string) => void)[] = [];
  const checks = rooms.checksWith({ look: () => new Promise((resolve) => under.push(resolve)) });
  const start = async (name: Parameters<AnchorCheckService['check']>[0]) => {
    const before = under.length;
    const standing = checks.check(name);
    while (under.length === before) await new Promise((resolve) => setTimeout(resolve, 5));
    return (outcome: string) => {
      under[before]?.(outcome);
      return standing;
    };
  };
  return { start };
}

describe('a look', () => {
  it('is made when it is due only, and tells of the find once', async () => {
    const one = await begin();
    rooms.places.publish(one);
    expect(await rooms.checks.check(one.name)).toMatchObject({ status: 'verified', step: { kind: 'wait' } });
    await rooms.checks.check(one.name);
    expect(rooms.places.looks(one.value)).toBe(1);
    await one.due();
    expect(await rooms.checks.check(one.name)).toMatchObject({ lastOutcome: 'found' });
    expect(rooms.places.looks(one.value)).toBe(2);
    expect(await one.countChanges('verified')).toEqual({ audited: 1, emitted: 1 });
  });

  it('counts once of several at the same time', async () => {
    const one = await begin();
    rooms.places.publish(one);
    await Promise.all(Array.from({ length: 8 }, () => rooms.checks.check(one.name)));
    const { rows } = await database.query('SELECT checks, status FROM anchors WHERE id = $1', [one.id]);
    expect(rows).toEqual([{ checks: 1, status: 'verified' }]);
    expect(await one.countChanges('verified')).toEqual({ audited: 1, emitted: 1 });
  });

  it('that ends after another one says nothing any more', async () => {
    const one = await begin();
    const looks = createSlowLooks();
    const [first, second] = [await looks.start(one.name), await looks.start(one.name)];
    expect(await second('found')).toMatchObject({ status: 'verified' });
    expect(await first('http:500')).toMatchObject({
      status: 'verified',
      lastOutcome: 'found',
      missingSince: null,
    });
  });

  it('does not verify what has run out meanwhile, and that fails once', async () => {
    const one = await begin();
    const end = await createSlowLooks().start(one.name);
    await database.query("UPDATE anchors SET expires_at = now() - interval '1 second' WHERE id = $1", [
      one.id,
    ]);
    expect(await end('found')).toMatchObject({ status: 'pending', step: { kind: 'fail' } });
    await Promise.all(Array.from({ length: 3 }, () => rooms.checks.fail(one.name)));
    expect(await one.countChanges('failed')).toEqual({ audited: 1, emitted: 1 });
    expect(await rooms.checks.look(one.name)).toMatchObject({ status: 'failed', step: { kind: 'end' } });
  });

  it('revives nothing that was revoked meanwhile', async () => {
    const one = await begin();
    const end = await createSlowLooks().start(one.name);
    await rooms.anchors.revoke(context, one.agentId, one.id);
    expect(await end('found')).toMatchObject({ status: 'revoked', step: { kind: 'end' } });
    expect((await one.read()).verifiedAt).toBeNull();
  });

  it('is followed by another within seconds when somebody asked for one meanwhile', async () => {
    const one = await begin();
    await database.query("UPDATE anchors SET created_at = now() - interval '2 days' WHERE id = $1", [one.id]);
    const end = await createSlowLooks().start(one.name);
    await rooms.anchors.requestCheck(context, one.agentId, one.id);
    const { step } = await end('http:404');
    expect(step.kind === 'wait' && step.delayMs).toBeLessThanOrEqual(5_000);
    await one.due();
    const again = await createSlowLooks().start(one.name);
    const { step: later } = await again('http:404');
    expect(later.kind === 'wait' && later.delayMs).toBeGreaterThan(3_000_000);
  });

  it('that fails by our own part writes nothing down', async () => {
    const one = await begin();
    const broken = rooms.checksWith({ look: () => Promise.reject(new Error('our own part')) });
    await expect(broken.check(one.name)).rejects.toThrow('our own part');
    expect(await one.read()).toMatchObject({ lastCheckedAt: null, lastOutcome: null });
  });

  it('finds nothing by the id of another tenant, and nothing that does not exist', async () => {
    const one = await begin();
    const other = await createTestTenant(rooms);
    for (const name of [
      { tenantId: other.tenant.id, id: one.id },
      { ...one.name, id: newId() },
    ]) {
      for (const step of ['look', 'check', 'fail'] as const)
        expect(await rooms.checks[step](name)).toMatchObject({ status: 'gone', step: { kind: 'end' } });
      await expect(rooms.checks.requestByOperator(name)).rejects.toMatchObject({ code: 'not_found' });
      expect(await rooms.checks.describe(name)).toBeUndefined();
    }
    expect(rooms.places.looks(one.value)).toBe(0);
  });
});

describe('a request for a look', () => {
  it('never puts one off, and keeps a few seconds between two', async () => {
    const one = await begin();
    await rooms.checks.check(one.name);
    const { lastCheckedAt } = await one.read();
    await database.query("UPDATE anchors SET next_check_at = now() + interval '1 hour' WHERE id = $1", [
      one.id,
    ]);
    const { nextCheckAt } = await rooms.anchors.requestCheck(context, one.agentId, one.id);
    expect(nextCheckAt.getTime() - (lastCheckedAt?.getTime() ?? 0)).toBe(5_000);
    const again = await rooms.anchors.requestCheck(context, one.agentId, one.id);
    expect(again.nextCheckAt).toEqual(nextCheckAt);
  });
});
