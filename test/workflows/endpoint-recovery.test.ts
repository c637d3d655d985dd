// endpointRecovery against a real Temporal and a real Postgres: what it shows, what an operator can do with it, and who
// hears of it.
import { afterAll, describe, expect, it } from 'vitest';
import { eventually } from './delivery-engine.ts';
import { createEndpointEngine } from './endpoint-engine.ts';

const RECOVERY = { failures: 4, deliveries: 3, failingMs: 0, probeDelaysMs: [600_000] } as const;

const engine = await createEndpointEngine({ recovery: RECOVERY });
await engine.startProcess();
engine.startRunner();
const { id: observer } = await engine.subscribe({ eventTypes: ['webhook.*'] });
afterAll(() => engine.close());

/** An endpoint that is down, with as many deliveries as were published. */
async function bringDown(count = 6) {
  const { id, path } = await engine.subscribe({ delaysMs: [200, 200, 200, 200] });
  const answers = { status: 500 };
  engine.receiver.answer(path, () => ({ status: answers.status }));
  const ids = await engine.publish(id, count);
  await engine.waitsFor(id, 'probe');
  return { id, path, ids, answers };
}

const about = (data: Record<string, unknown>, id: string) => data.subscription_id === id;

describe('an endpoint in trouble has an actor that', () => {
  it('shows since when, why, the next probe and how many wait, and holds no secret', async () => {
    const { id, path } = await bringDown();
    const state = await eventually(async () => {
      const seen = await engine.stateOf(id);
      return seen?.state === 'down' && seen;
    }, 'its state');
    const endpoint = await engine.endpoint(id);
    expect(state).toMatchObject({
      host: engine.receiver.host,
      lastError: 'http:500',
      waiting: 6,
      failingSince: endpoint.failing_since?.toISOString(),
    });
    expect(state?.opensAt).toBe((await engine.endpoint(id)).probe_at?.toISOString());
    expect((await engine.subscriptions.get(engine.context, id)).endpoint).toMatchObject({
      state: 'down',
      lastError: 'http:500',
      lastStatusCode: 500,
      nextProbeAt: endpoint.probe_at,
      waiting: 6,
    });
    const described = await engine.actor(id).describe();
    const { userMetadata } = described.raw.executionConfig ?? {};
    expect(Buffer.from(userMetadata?.summary?.data ?? []).toString()).toContain(engine.receiver.host);
    const query = `SubscriptionId="${id}" AND EndpointHost="${engine.receiver.host}" AND EntityState="down" AND LastOutcome="http:500"`;
    await eventually(async () => (await engine.client.workflow.count(query)).count === 1, 'its visibility');
    expect(JSON.stringify(await engine.actor(id).fetchHistory())).not.toContain(path.slice(1));
  });

  it('ends when what an operator has let through is taken, all of it, and an audit entry says who did it', async () => {
    const { id, ids, answers } = await bringDown(20);
    answers.status = 204;
    await engine.actor(id).executeUpdate('probeNow');
    for (const delivery of ids) expect(await engine.ended(delivery)).toMatchObject({ status: 'delivered' });
    expect(await engine.endOf(id)).toMatchObject({ state: 'open' });
    expect(await engine.endpoint(id)).toMatchObject({ state: 'open', failing_since: null, watched: false });
    expect(await engine.auditOf('webhook.endpoint.probed')).toContainEqual(
      expect.objectContaining({ actor_kind: 'operator', actor_id: engine.client.options.identity }),
    );
  });

  it('sends all when the tenant probes it, also what would wait for ten minutes, and waits again when that fails', async () => {
    const { id, path } = await engine.subscribe({ delaysMs: [600_000, 600_000] });
    const answers = { status: 500 };
    engine.receiver.answer(path, () => ({ status: answers.status }));
    const ids = await engine.publish(id, 4);
    await engine.waitsFor(id, 'probe');
    await eventually(async () => (await engine.counts(id)).retrying === 4, 'the four failures');
    const { epoch } = await engine.endpoint(id);
    await engine.subscriptions.probe(engine.context, id);
    const failedAgain = async () => {
      const row = await engine.endpoint(id);
      return (
        row.epoch > epoch + 1 && row.state === 'down' && row.probe_at !== null && row.probe_at > new Date()
      );
    };
    await eventually(failedAgain, 'the failure of the probe');
    answers.status = 204;
    await engine.subscriptions.probe(engine.context, id);
    for (const delivery of ids) expect(await engine.ended(delivery)).toMatchObject({ status: 'delivered' });
    expect(await engine.endOf(id)).toMatchObject({ state: 'open' });
  });

  it('lets one attempt through for an operator, and waits again when that fails', async () => {
    const { id, path } = await bringDown();
    // Attempts from before it was down have ended.
    await engine.quiet();
    const before = engine.receiver.of(path).length;
    const { probe_at: probeAt } = await engine.endpoint(id);
    await engine.actor(id).executeUpdate('probeNow');
    await eventually(
      async () => (await engine.endpoint(id)).probe_at?.getTime() !== probeAt?.getTime(),
      'the probe',
    );
    await eventually(async () => {
      const state = await engine.stateOf(id);
      const until = (await engine.endpoint(id)).probe_at;
      return state?.opensAt === until?.toISOString() && engine.receiver.of(path).length === before + 1;
    }, 'the next wait');
  });

  it('releases everything immediately for an operator, paced', async () => {
    const { id, ids, answers } = await bringDown();
    answers.status = 204;
    expect(await engine.actor(id).executeUpdate('release')).toMatchObject({ host: engine.receiver.host });
    for (const delivery of ids) expect(await engine.ended(delivery)).toMatchObject({ status: 'delivered' });
    await engine.endOf(id);
    expect(await engine.auditOf('webhook.endpoint.released')).toHaveLength(1);
  });

  it('holds for an operator, and goes on by itself when that has run out', async () => {
    const { id, ids, answers } = await bringDown();
    await engine.actor(id).executeUpdate('release');
    await engine.actor(id).executeUpdate('hold', { args: [2] });
    const held = Date.now();
    answers.status = 204;
    for (const delivery of ids) expect(await engine.ended(delivery)).toMatchObject({ status: 'delivered' });
    const first = engine.receiver.received.filter(({ at }) => at >= held + 100).at(0);
    expect(first?.at ?? 0).toBeGreaterThanOrEqual(held);
    await engine.endOf(id);
    expect(await engine.auditOf('webhook.endpoint.held')).toContainEqual(
      expect.objectContaining({
        actor_kind: 'operator',
        actor_id: engine.client.options.identity,
        data: { seconds: 2 },
      }),
    );
  });

  it.each([['0'], [0], [-1], [1.5], [604_801]])('refuses to hold for %j seconds', async (seconds) => {
    const { id } = await bringDown();
    await expect(engine.actor(id).executeUpdate('hold', { args: [seconds] })).rejects.toThrow();
    expect((await engine.endpoint(id)).hold_until).toBeNull();
    await engine.subscriptions.remove(engine.context, id);
  });

  it.each([
    [
      'deactivates',
      (id: string) => engine.subscriptions.update(engine.context, id, { active: false }),
      'inactive',
    ],
    ['deletes', (id: string) => engine.subscriptions.remove(engine.context, id), 'deleted'],
  ])('ends when somebody %s the subscription', async (_, act, state) => {
    const { id } = await bringDown();
    await act(id);
    expect(await engine.endOf(id)).toMatchObject({ state });
    expect((await engine.endpoint(id)).watched).toBe(false);
  });

  it('runs again when the subscription is active again and its endpoint still down, with a new count of days', async () => {
    const { id } = await bringDown();
    await engine.subscriptions.update(engine.context, id, { active: false });
    await engine.endOf(id);
    const since = (await engine.endpoint(id)).failing_since;
    await engine.subscriptions.update(engine.context, id, { active: true });
    // Its probe is due immediately, and fails.
    const state = await engine.waitsFor(id, 'probe');
    expect(state?.state).toBe('down');
    expect((await engine.endpoint(id)).failing_since?.getTime()).toBeGreaterThan(since?.getTime() ?? 0);
  });

  it('is told when a retry by hand or another URL opens the endpoint', async () => {
    const one = await bringDown();
    one.answers.status = 204;
    await engine.deliveries.retry(engine.context, one.ids[0] ?? '');
    expect(await engine.endOf(one.id)).toMatchObject({ state: 'open' });
    const two = await bringDown();
    await engine.subscriptions.update(engine.context, two.id, { url: `${engine.receiver.url}/elsewhere` });
    expect(await engine.endOf(two.id)).toMatchObject({ state: 'open' });
  });

  it('watches a single delivery that fails again and again, although the endpoint stays open', async () => {
    const { id, path } = await engine.subscribe({ delaysMs: [50, 50, 1_000, 200] });
    let status = 500;
    engine.receiver.answer(path, () => ({ status }));
    const [delivery = ''] = await engine.publish(id);
    await engine.waitsFor(id, 'success');
    expect(await engine.endpoint(id)).toMatchObject({ state: 'open', watched: true });
    status = 204;
    expect(await engine.ended(delivery)).toMatchObject({ status: 'delivered' });
    expect(await engine.endOf(id)).toMatchObject({ state: 'open' });
  });
});

describe('an endpoint that refuses a few deliveries for good, and takes none', () => {
  it('is reported when nothing succeeds for an hour, goes down at the usual number of failures, and comes back', async () => {
    const { id, path } = await engine.subscribe({ delaysMs: [] });
    const answers = { status: 422 };
    engine.receiver.answer(path, () => ({ status: answers.status }));
    const refuse = async (count: number): Promise<void> => {
      for (const delivery of await engine.publish(id, count))
        expect((await engine.ended(delivery)).status).toBe('failed');
    };
    const warnings = async () =>
      (await engine.eventsOf('webhook.endpoint.failing')).filter((data) => about(data, id));
    await refuse(2);
    expect(await engine.endpoint(id)).toMatchObject({ state: 'open', watched: false });
    await engine.database.query(
      "UPDATE endpoints SET failing_since = now() - interval '61 minutes' WHERE subscription_id = $1",
      [id],
    );
    await refuse(1);
    await engine.waitsFor(id, 'success');
    expect(await engine.stateOf(id)).toMatchObject({ state: 'failing', waiting: 0, lastError: 'http:422' });
    expect(await warnings()).toHaveLength(1);
    expect(await engine.endpoint(id)).toMatchObject({ state: 'open', watched: true });
    await refuse(1);
    expect(await engine.endpoint(id)).toMatchObject({ state: 'down' });
    await engine.waitsFor(id, 'probe');
    answers.status = 204;
    const [kept = ''] = await engine.publish(id, 1);
    await engine.actor(id).executeUpdate('probeNow');
    expect((await engine.ended(kept)).status).toBe('delivered');
    expect(await engine.endOf(id)).toMatchObject({ state: 'open' });
  });
});

describe('people are told', () => {
  /** Moves the beginning of the outage into the past, and has the actor look. */
  const failSince = async (id: string, ago: string) => {
    await engine.database.query(
      `UPDATE endpoints SET failing_since = now() - $2::interval,
         warned_for = CASE WHEN warned_for IS NOT NULL THEN (now() - $2::interval)::timestamptz(3) END
       WHERE subscription_id = $1`,
      [id, ago],
    );
    await engine.actor(id).signal('changed');
  };
  const warnings = async (id: string) =>
    (await engine.eventsOf('webhook.endpoint.failing')).filter((data) => about(data, id));

  it('once each after an hour, a day and three days, also by an actor that was begun anew, and when it works again', async () => {
    const { id, answers, ids } = await bringDown();
    expect(await warnings(id)).toHaveLength(0);
    for (const [count, ago] of [
      [1, '1 hour'],
      [1, '2 hours'],
      [2, '25 hours'],
      [3, '4 days'],
      [3, '9 days'],
    ] as const) {
      await failSince(id, ago);
      await eventually(async () => (await warnings(id)).length === count, `${count} warnings`);
      const { runId } = await engine.actor(id).describe();
      await engine.actor(id).terminate('a test');
      await engine.database.query(
        `INSERT INTO workflow_commands (tenant_id, workflow, entity_id) VALUES ($1, 'endpointRecovery', $2)`,
        [engine.context.tenant.id, id],
      );
      await eventually(async () => (await engine.actor(id).describe()).runId !== runId, 'another run');
      await engine.waitsFor(id, 'probe');
      expect(await warnings(id)).toHaveLength(count);
    }
    expect((await warnings(id)).at(-1)).toMatchObject({
      host: engine.receiver.host,
      state: 'down',
      last_error: 'http:500',
      waiting: ids.length,
    });
    answers.status = 204;
    await engine.actor(id).executeUpdate('probeNow');
    await engine.endOf(id);
    const recovered = (await engine.eventsOf('webhook.endpoint.recovered')).filter((data) => about(data, id));
    expect(recovered).toHaveLength(1);
    expect(recovered[0]).toMatchObject({ host: engine.receiver.host });
  });

  it('when a subscription is deactivated because its endpoint only failed, and not by a delivery to itself', async () => {
    const { id, path, ids } = await bringDown();
    await engine.database.query('UPDATE subscriptions SET filters = filters || $2 WHERE id = $1', [
      id,
      ['webhook.*'],
    ]);
    await failSince(id, '13 days 23 hours');
    await eventually(async () => (await warnings(id)).length === 1, 'a warning');
    await failSince(id, '14 days');
    expect(await engine.endOf(id)).toMatchObject({ state: 'inactive' });
    const { active, disabledReason, endpoint } = await engine.subscriptions.get(engine.context, id);
    expect({ active, disabledReason }).toEqual({ active: false, disabledReason: 'failing' });
    expect(endpoint.waiting).toBe(ids.length);
    const ends = (await engine.eventsOf('webhook.endpoint.deactivated')).filter((data) => about(data, id));
    expect(ends).toEqual([expect.objectContaining({ reason: 'failing' })]);
    expect(await engine.auditOf('webhook.endpoint.deactivated')).toContainEqual(
      expect.objectContaining({ actor_kind: 'service' }),
    );
    const { rows } = await engine.database.query<{ event_type: string }>(
      `SELECT event_type FROM deliveries WHERE subscription_id = $1 AND event_type LIKE 'webhook.%' AND event_id IN (
         SELECT event_id FROM events WHERE convert_from(body, 'UTF8')::jsonb -> 'data' ->> 'subscription_id' = $1::text)`,
      [id],
    );
    expect(rows).toEqual([]);
    expect(
      engine.receiver
        .of(path)
        .every(({ headers }) => headers['x-service-event'] !== 'webhook.endpoint.failing'),
    ).toBe(true);
    expect((await engine.counts(observer)).pending ?? 0).toBeGreaterThanOrEqual(0);
  });
});

describe('with parts away', () => {
  it('recovers without any actor: the row opens by itself', async () => {
    const lonely = await createEndpointEngine({
      recovery: { failures: 4, deliveries: 3, failingMs: 0, probeDelaysMs: [300] },
    });
    try {
      await lonely.startProcess();
      const { id, path } = await lonely.subscribe({ delaysMs: [100, 100, 100, 100] });
      let status = 500;
      lonely.receiver.answer(path, () => ({ status }));
      const ids = await lonely.publish(id, 8);
      await eventually(async () => (await lonely.endpoint(id)).state === 'down', 'the outage');
      status = 204;
      for (const delivery of ids) expect(await lonely.ended(delivery)).toMatchObject({ status: 'delivered' });
      // A workflow that starts later finds nothing to do, and ends.
      lonely.startRunner();
      expect(
        await eventually(
          () =>
            lonely
              .actor(id)
              .result()
              .catch(() => undefined),
          'its end',
        ),
      ).toMatchObject({
        state: 'open',
      });
    } finally {
      await lonely.close();
    }
  });
});
