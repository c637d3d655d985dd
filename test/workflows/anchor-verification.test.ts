// anchorVerification against a real Temporal, a real Postgres, and domains on loopback: each way through the life of an
// anchor.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readAudit, readEvents } from '../identity/agents/agent-rooms.ts';
import { createAnchorEngine } from './anchor-engine.ts';
import { eventually } from './delivery-engine.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

const engine = await createAnchorEngine();
afterAll(() => engine.close());

const auditOf = async (id: string) =>
  (await readAudit(engine.database, engine.context.tenant.id)).filter(({ target_id }) => target_id === id);
const eventsOf = async (id: string) =>
  (await readEvents(engine.database, engine.context.tenant.id)).filter(({ data }) => data.anchor_id === id);

describe('with everything there', () => {
  const stops: (() => Promise<void>)[] = [];
  beforeAll(async () => {
    stops.push(engine.startRunner(), await engine.startWorker());
  });
  afterAll(async () => {
    await engine.toldAll();
    for (const stop of stops) await stop();
  });

  it.each(['domain_https', 'domain_dns'] as const)(
    'finds the proof of %s once it is there, and then looks daily',
    async (type) => {
      const one = await engine.begin(type);
      const error = type === 'domain_dns' ? 'dns:ENOTFOUND' : 'http:404';
      const waiting = await engine.shows(one.id, { status: 'pending', lastOutcome: error });
      expect(waiting.expiresAt).toBe(one.expiresAt.toISOString());
      expect(await one.read()).toMatchObject({ lastOutcome: error, lastCheckedAt: expect.any(Date) });
      engine.places.publish(one);
      await one.check();
      await engine.reaches(one, 'verified');
      const daily = await engine.shows(one.id, {
        status: 'verified',
        lastOutcome: 'found',
        missingSince: null,
      });
      expect(Date.parse(daily.until ?? '') - Date.now()).toBeGreaterThan(20 * HOUR);
      expect((await auditOf(one.id)).map(({ action, actor_kind }) => `${action} ${actor_kind}`)).toEqual([
        'agent.anchor.created application',
        'agent.anchor.check_requested application',
        'agent.anchor.verified service',
      ]);
      expect(await eventsOf(one.id)).toEqual([
        {
          type: 'admin.agent.anchor.verified',
          data: { anchor_id: one.id, agent_id: one.agentId, type, value: one.value },
        },
      ]);
      const { registration } = await engine.rooms.agents.get(engine.context, one.agentId);
      expect(registration).toMatchObject({ complete: true, verified: true, audited: true });
      await one.revoke();
      expect(await engine.workflow(one.id).result()).toEqual({ status: 'revoked', lastOutcome: 'found' });
    },
  );

  it('shows an operator whose it is, where it looks, and what came of it', async () => {
    const one = await engine.begin();
    await engine.shows(one.id, { lastOutcome: 'http:404' });
    await eventually(async () => {
      const { typedSearchAttributes, staticSummary } = await engine.workflow(one.id).describe();
      const shown = Object.fromEntries(
        typedSearchAttributes.getAll().map(({ key, value }) => [key.name, value]),
      );
      expect(await staticSummary?.()).toBe(`${one.value} · domain_https`);
      return (
        shown.TenantId === engine.context.tenant.id &&
        shown.AgentId === one.agentId &&
        shown.EndpointHost === one.value &&
        shown.EntityState === 'pending' &&
        shown.LastOutcome === 'http:404'
      );
    }, 'the search attributes');
    const history = await engine.workflow(one.id).fetchHistory();
    expect(Buffer.from(JSON.stringify(history)).toString()).not.toContain(one.proof);
    await one.revoke();
    await engine.workflow(one.id).result();
  });

  it('fails a pending one whose time is over', async () => {
    const one = await engine.begin();
    await engine.shows(one.id, { lastOutcome: 'http:404' });
    await one.age(7 * DAY);
    await engine.workflow(one.id).signal('changed');
    expect(await engine.workflow(one.id).result()).toEqual({ status: 'failed', lastOutcome: 'http:404' });
    engine.places.publish(one);
    await expect(one.check()).rejects.toMatchObject({ code: 'conflict' });
    expect(await eventsOf(one.id)).toMatchObject([
      { type: 'admin.agent.anchor.failed', data: { last_error: 'http:404' } },
    ]);
    expect((await one.read()).status).toBe('failed');
  });

  it('revokes a verified one whose proof is gone for three days, and one that is back stays', async () => {
    const [gone, back] = [await engine.begin(), await engine.begin('domain_dns')];
    const pass = async (one: typeof gone, ms: number) => {
      await one.age(ms);
      const { lastCheckedAt } = await one.read();
      await engine.workflow(one.id).signal('changed');
      await engine.looked(one, lastCheckedAt);
    };
    for (const one of [gone, back]) {
      engine.places.publish(one);
      await engine.reaches(one, 'verified');
      await engine.shows(one.id, { status: 'verified' });
      engine.places.withdraw(one);
      for (let n = 0; n < 3; n += 1) await pass(one, DAY);
      expect((await one.read()).missingSince).not.toBeNull();
    }
    engine.places.publish(back);
    await pass(back, DAY);
    expect(await back.read()).toMatchObject({ status: 'verified', missingSince: null });
    engine.places.serve(gone.value, (response) => response.end('parked'));
    await pass(gone, 2 * DAY);
    expect(await engine.workflow(gone.id).result()).toEqual({ status: 'revoked', lastOutcome: 'mismatch' });
    const { missingSince } = await gone.read();
    expect((await eventsOf(gone.id)).slice(1)).toMatchObject([
      {
        type: 'admin.agent.anchor.missing',
        data: { last_error: 'http:404', revokes_at: expect.any(String) },
      },
      {
        type: 'admin.agent.anchor.revoked',
        data: {
          was: 'verified',
          reason: 'proof_missing',
          last_error: 'mismatch',
          missing_since: missingSince?.toISOString(),
        },
      },
    ]);
    await back.revoke('no longer ours');
    expect((await eventsOf(back.id)).at(-1)).toMatchObject({
      data: { was: 'verified', reason: 'no longer ours', missing_since: null, last_error: null },
    });
    await engine.workflow(back.id).result();
  });

  it('lets an operator have it checked immediately, who is told and audited', async () => {
    const one = await engine.begin('domain_dns');
    await engine.shows(one.id, { lastOutcome: 'dns:ENOTFOUND' });
    await one.age(DAY);
    const handle = engine.workflow(one.id);
    await expect(handle.executeUpdate('lookNow', { args: ['x'.repeat(501)] })).rejects.toThrow();
    engine.places.publish(one);
    expect(await handle.executeUpdate('lookNow', { args: ['asked by phone'] })).toMatchObject({
      status: 'verified',
      lastOutcome: 'found',
    });
    expect((await auditOf(one.id)).at(-2)).toMatchObject({
      action: 'agent.anchor.check_requested',
      actor_kind: 'operator',
      actor_id: engine.client.options.identity,
      data: { reason: 'asked by phone' },
    });
    await one.revoke();
    await handle.result();
    await expect(handle.executeUpdate('lookNow')).rejects.toThrow();
  });

  it('goes on while the agent is suspended, and ends with the agent', async () => {
    const one = await engine.begin();
    await engine.rooms.agents.suspend(engine.context, one.agentId);
    engine.places.publish(one);
    await engine.reaches(one, 'verified');
    await engine.rooms.agents.remove(engine.context, one.agentId);
    expect(await engine.workflow(one.id).result()).toEqual({ status: 'gone', lastOutcome: null });
  });

  it('revives nothing by a look that was under way when the anchor was revoked or its agent deleted', async () => {
    for (const end of ['revoke', 'remove'] as const) {
      const one = await engine.begin();
      let answer: (() => void) | undefined;
      engine.places.serve(one.value, (response) => {
        answer = () => response.end(one.proof);
      });
      await eventually(() => answer !== undefined, 'a look to be under way');
      if (end === 'revoke') await one.revoke();
      else await engine.rooms.agents.remove(engine.context, one.agentId);
      answer?.();
      const { status } = await engine.workflow(one.id).result();
      expect(status).toBe(end === 'revoke' ? 'revoked' : 'gone');
      const { rows } = await engine.database.query('SELECT status, verified_at FROM anchors WHERE id = $1', [
        one.id,
      ]);
      expect(rows).toEqual([{ status: 'revoked', verified_at: null }]);
      expect((await auditOf(one.id)).map(({ action }) => action)).not.toContain('agent.anchor.verified');
    }
  });

  it('is started again by the next change when somebody has terminated it', async () => {
    const one = await engine.begin();
    await engine.shows(one.id, { lastOutcome: 'http:404' });
    await engine.workflow(one.id).terminate('by hand');
    expect((await one.read()).status).toBe('pending');
    engine.places.publish(one);
    await one.check();
    await engine.reaches(one, 'verified');
    await one.revoke();
    await engine.toldAll();
  });

  it('begins its history anew before it grows long, and misses nothing by that', async () => {
    const one = await engine.begin();
    await engine.shows(one.id, { lastOutcome: 'http:404' });
    await engine.database.query("UPDATE anchors SET next_check_at = now() + interval '1 day' WHERE id = $1", [
      one.id,
    ]);
    const run = await engine.runOf(one.id);
    await eventually(async () => {
      await Promise.all(Array.from({ length: 20 }, () => engine.workflow(one.id).signal('changed')));
      await engine.shows(one.id, { status: 'pending' });
      return (await engine.runOf(one.id)) !== run;
    }, 'another run');
    engine.places.publish(one);
    await one.check();
    await engine.reaches(one, 'verified');
    await one.revoke();
    expect(await engine.workflow(one.id).result()).toMatchObject({ status: 'revoked' });
  });
});

describe('with a part away', () => {
  it('goes on where it stood when the worker is back', async () => {
    const stopRunner = engine.startRunner();
    const stopWorker = await engine.startWorker();
    const one = await engine.begin();
    await engine.shows(one.id, { lastOutcome: 'http:404' });
    await stopWorker();
    engine.places.publish(one);
    await one.check();
    await engine.toldAll();
    const stop = await engine.startWorker();
    await engine.reaches(one, 'verified');
    await one.revoke();
    await engine.workflow(one.id).result();
    await engine.toldAll();
    await stop();
    await stopRunner();
  });
});
