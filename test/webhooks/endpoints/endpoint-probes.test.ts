// An endpoint that is down: nobody waits on a timer, one delivery at a time finds out whether it is back, and then the
// rest goes out, paced. The schedule of probes is short here; in production it is hours long.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { REFUSALS } from '../../../src/webhooks/endpoints/recovery-settings.ts';
import { createEngine, type DeliveryEngine, eventually } from '../../workflows/delivery-engine.ts';

const RECOVERY = { failures: 4, deliveries: 3, failingMs: 0, probeDelaysMs: [300, 200, 200] } as const;

type Endpoint = {
  state: string;
  permits: number | null;
  failures_in_a_row: number;
  failing_since: Date | null;
  probe_step: number;
  epoch: number;
};

describe('an endpoint that is down', () => {
  let engine: DeliveryEngine;

  beforeEach(async () => {
    engine = await createEngine({ recovery: RECOVERY });
  });
  afterEach(() => engine.close());

  const endpoint = async (id: string): Promise<Endpoint> => {
    const { rows } = await engine.database.query<Endpoint>(
      'SELECT * FROM endpoints WHERE subscription_id = $1',
      [id],
    );
    if (rows[0] === undefined) throw new Error(`no endpoint ${id}`);
    return rows[0];
  };
  /** Permits that were lost come back after 30 s each: here they do not. */
  const loseWhatIsNotGivenBack = () =>
    engine.database.query(
      `CREATE OR REPLACE FUNCTION endpoint_permits(endpoint endpoints) RETURNS integer LANGUAGE sql STABLE
       AS 'SELECT endpoint.permits'`,
    );
  const becomes = (id: string, state: string) =>
    eventually(async () => (await endpoint(id)).state === state, `the endpoint to be ${state}`);

  /** Answers that count how many are under way together. */
  const watch = (path: string, answer: (delivery: string) => { status: number; delayMs?: number }) => {
    const seen = { now: 0, most: 0, probes: 0 };
    engine.receiver.answer(path, async (request) => {
      seen.now += 1;
      seen.most = Math.max(seen.most, seen.now);
      const { status, delayMs = 0 } = answer(request.deliveryId);
      await sleep(delayMs);
      seen.now -= 1;
      return { status };
    });
    return seen;
  };

  it('is probed with one delivery at a time, which costs none its schedule, and gets everything when it is back', async () => {
    // The retries come long after the endpoint has closed, on a busy machine too.
    const { id, path } = await engine.subscribe({ delaysMs: [3_000, 60_000] });
    let status = 500;
    const seen = watch(path, () => ({ status, delayMs: 20 }));
    engine.startRunner();
    await Promise.all([engine.startProcess(), engine.startProcess({ worker: false })]);
    // Its first failure is so long ago that retries have been in.
    await engine.database.query(
      "UPDATE endpoints SET failures_in_a_row = 1, failing_since = now() - interval '1 minute' WHERE subscription_id = $1",
      [id],
    );
    const ids = await engine.publish(id, 40);
    await becomes(id, 'down');
    const isClaimed = ({ claimed_by }: { claimed_by: string | null }) => claimed_by !== null;
    await eventually(
      async () => !(await engine.outbox()).some(isClaimed) && seen.now === 0,
      'attempts from before it was down to end',
    );
    const before = engine.receiver.of(path).length;
    seen.most = 0;
    await eventually(async () => engine.receiver.of(path).length >= before + 4, 'four probes');
    expect(seen.most).toBe(1);
    const { rows } = await engine.database.query<{ probes: number; most: number }>(
      `SELECT (SELECT count(*)::int FROM attempts WHERE probe AND subscription_id = $1) AS probes,
         max(failed_attempts) AS most FROM deliveries WHERE subscription_id = $1`,
      [id],
    );
    expect(rows[0]?.probes).toBeGreaterThanOrEqual(3);
    expect(rows[0]?.most).toBe(1);
    // Probes take turns between new deliveries and tried ones: one that is refused for a reason of its own does not
    // keep the endpoint closed, and a receiver may refuse only first attempts.
    const probed = () => engine.receiver.of(path).map(({ deliveryId }) => deliveryId);
    expect(new Set(probed().slice(before)).size).toBeGreaterThan(1);
    await eventually(() => new Set(probed()).size < probed().length, 'a probe with a tried delivery');
    status = 204;
    await Promise.all(ids.map((delivery) => engine.ended(delivery)));
    for (const delivery of ids) expect((await engine.delivery(delivery)).status).toBe('delivered');
    expect(await endpoint(id)).toMatchObject({ state: 'open', failures_in_a_row: 0, failing_since: null });
  });

  it('goes down only when several deliveries fail: one that nobody can deliver goes through its schedule', async () => {
    const { id, path } = await engine.subscribe({ delaysMs: [1, 1, 1, 1, 1, 1] });
    engine.receiver.answer(path, () => ({ status: 500 }));
    await engine.startProcess();
    const [delivery = ''] = await engine.publish(id);
    expect(await engine.ended(delivery)).toMatchObject({ status: 'failed', attempt_count: 7 });
    expect(await endpoint(id)).toMatchObject({ state: 'open', failures_in_a_row: 7 });
  });

  it('is down after many refusals for good in a row, of several deliveries, and not after fewer', async () => {
    const { id, path } = await engine.subscribe({ delaysMs: [] });
    let status = 422;
    watch(path, () => ({ status }));
    await engine.startProcess();
    const few = await engine.publish(id, REFUSALS - 1);
    for (const delivery of few) expect((await engine.ended(delivery)).status).toBe('failed');
    expect(await endpoint(id)).toMatchObject({ state: 'open', failures_in_a_row: REFUSALS - 1 });
    const told = 'SELECT 1 FROM workflow_commands WHERE entity_id = $1';
    expect((await engine.database.query(told, [id])).rowCount).toBe(0);
    await engine.publish(id, 1);
    await becomes(id, 'down');
    expect((await endpoint(id)).failing_since).not.toBeNull();
    expect((await engine.database.query(told, [id])).rowCount).toBe(1);
    status = 204;
    const [later = ''] = await engine.publish(id, 1);
    expect((await engine.ended(later)).status).toBe('delivered');
    expect(await endpoint(id)).toMatchObject({ state: 'open', failures_in_a_row: 0, failing_since: null });
  });

  it('lets waiting deliveries out slowly at first, and faster with each success', async () => {
    const { id, path } = await engine.subscribe({ active: false });
    const starts: number[] = [];
    const seen = watch(path, () => {
      starts.push(seen.now);
      return { status: 204, delayMs: 60 };
    });
    await Promise.all([engine.startProcess(), engine.startProcess({ worker: false })]);
    const ids = await engine.publish(id, 60);
    await engine.subscriptions.update(engine.context, id, { active: true });
    await Promise.all(ids.map((delivery) => engine.ended(delivery)));
    expect(starts.slice(0, 3).every((underWay) => underWay <= 2)).toBe(true);
    expect(starts.slice(0, 7).every((underWay) => underWay <= 4)).toBe(true);
    expect((await endpoint(id)).permits).toBeNull();
  });

  it('is not closed again by one delivery that it refuses while it comes back', async () => {
    const { id, path } = await engine.subscribe({ active: false, delaysMs: [300, 300] });
    const ids = await engine.publish(id, 20);
    const [poison] = ids;
    watch(path, (delivery) => ({ status: delivery === poison ? 500 : 204 }));
    await engine.startProcess();
    await engine.subscriptions.update(engine.context, id, { active: true });
    for (const delivery of ids.slice(1)) {
      expect(await engine.ended(delivery)).toMatchObject({ status: 'delivered' });
    }
    expect(await engine.ended(poison ?? '')).toMatchObject({ status: 'failed', attempt_count: 3 });
  });

  it('gets no attempt while Retry-After runs, then one, and the others after its success', async () => {
    const { id, path } = await engine.subscribe({ delaysMs: [10, 10] });
    let held = 0;
    engine.receiver.answer(path, (_, count) => {
      if (count > 1) return { status: 204 };
      held = Date.now();
      return { status: 503, headers: { 'retry-after': '2' } };
    });
    await engine.startProcess();
    const [first = ''] = await engine.publish(id);
    await becomes(id, 'held');
    const others = await engine.publish(id, 10);
    for (const delivery of [first, ...others]) {
      expect(await engine.ended(delivery)).toMatchObject({ status: 'delivered' });
    }
    const [, ...later] = engine.receiver.of(path);
    for (const { at } of later) expect(at - held).toBeGreaterThanOrEqual(1_990);
    // The hold cost the others no attempt.
    for (const delivery of others) expect((await engine.delivery(delivery)).attempt_count).toBe(1);
  });

  it('gives a permit back when its delivery was canceled meanwhile', async () => {
    const { id } = await engine.subscribe({ active: false });
    const ids = await engine.publish(id, 12);
    for (const delivery of ids.slice(0, 10)) await engine.deliveries.cancel(engine.context, delivery);
    await loseWhatIsNotGivenBack();
    await engine.startProcess();
    await engine.subscriptions.update(engine.context, id, { active: true });
    for (const delivery of ids.slice(10)) expect((await engine.ended(delivery)).status).toBe('delivered');
  });

  it('gives a permit back when what it let begin is not due yet', async () => {
    const { id } = await engine.subscribe({ active: false });
    const ids = await engine.publish(id, 8);
    // Tried before, and to be started again before the others: as after Temporal was away, or has lost them.
    await engine.database.query(
      `UPDATE deliveries SET status = 'retrying', attempt_count = 1, next_attempt_at = now() + interval '1 hour' WHERE id = ANY($1)`,
      [ids.slice(0, 6)],
    );
    await engine.database.query(`UPDATE outbox SET kind = 'start' WHERE delivery_id = ANY($1)`, [
      ids.slice(0, 6),
    ]);
    await loseWhatIsNotGivenBack();
    await engine.startProcess();
    await engine.subscriptions.update(engine.context, id, { active: true });
    for (const delivery of ids.slice(6)) expect((await engine.ended(delivery)).status).toBe('delivered');
    expect((await engine.delivery(ids[0] ?? '')).attempt_count).toBe(1);
  });

  it('is tried immediately when somebody wants a retry', async () => {
    const { id, path } = await engine.subscribe({ delaysMs: [500, 500, 500] });
    let status = 500;
    watch(path, () => ({ status }));
    await engine.database.query('UPDATE endpoints SET probe_step = 2 WHERE subscription_id = $1', [id]);
    await engine.startProcess();
    const ids = await engine.publish(id, 5);
    await becomes(id, 'down');
    await engine.database.query(
      "UPDATE endpoints SET probe_at = now() + interval '1 hour' WHERE subscription_id = $1",
      [id],
    );
    status = 204;
    await engine.deliveries.retry(engine.context, ids[4] ?? '');
    for (const delivery of ids) expect(await engine.ended(delivery)).toMatchObject({ status: 'delivered' });
    expect((await endpoint(id)).state).toBe('open');
  });
});
