// Bulk replays over HTTP and step by step against a real database: which deliveries begin anew, each of them once, and
// how it ends.

import { afterAll, describe, expect, it } from 'vitest';
import * as store from '../../../src/webhooks/replays/bulk-replay.store.ts';
import { BulkReplayStepService } from '../../../src/webhooks/replays/bulk-replay-steps.service.ts';
import { createWebhookRooms } from '../webhook-rooms.ts';

const rooms = await createWebhookRooms();
afterAll(() => rooms.close());

const EVER = '2020-01-01T00:00:00Z';

/** A subscription with deliveries that have ended so, of which nothing waits in the outbox. */
async function given(count: number, status = 'failed') {
  const id = await rooms.subscribe();
  const deliveries = await rooms.publish(id, count);
  await rooms.database.query(
    `UPDATE deliveries SET status = $2, attempt_count = 12, failed_attempts = 12, started_generation = 0, next_attempt_at = NULL,
       completed_at = now() - interval '1 s' WHERE subscription_id = $1`,
    [id, status],
  );
  await rooms.database.query('DELETE FROM outbox WHERE endpoint = $1', [id]);
  return { id, deliveries };
}

const replay = (id: string, body: unknown) => rooms.send('POST', `/api/v1/webhooks/${id}/replay`, body);
const begin = async (id: string, body: Record<string, unknown> = {}): Promise<string> =>
  (await replay(id, { since: EVER, ...body })).body.replay_id;
const read = async (id: string, replay: string) =>
  (await rooms.send('GET', `/api/v1/webhooks/${id}/replays/${replay}`)).body;
const cancel = (id: string, replay: string) =>
  rooms.send('POST', `/api/v1/webhooks/${id}/replays/${replay}/cancel`);
const advance = (replay: string) =>
  rooms.bulkReplaySteps.advance({ tenantId: rooms.demo.tenant.id, id: replay });

async function generationsOf(id: string) {
  const { rows } = await rooms.database.query<{ generation: number; status: string; due: boolean }>(
    `SELECT generation, status, next_attempt_at <= now() AS due FROM deliveries WHERE subscription_id = $1 ORDER BY id`,
    [id],
  );
  return rows.map(({ generation }) => generation);
}

async function outboxOf(id: string) {
  const { rows } = await rooms.database.query<{ delivery_id: string; kind: string; rank: number }>(
    'SELECT delivery_id, kind, rank FROM outbox WHERE endpoint = $1 ORDER BY rank, id',
    [id],
  );
  return rows;
}

async function auditOf(replay: string) {
  const { rows } = await rooms.database.query<{ action: string; actor_kind: string; data: object }>(
    'SELECT action, actor_kind, data FROM audit_log WHERE target_id = $1 ORDER BY id',
    [replay],
  );
  return rows;
}

describe('POST /api/v1/webhooks/{id}/replay', () => {
  it('only counts in a dry run: by time, by status, of this subscription', async () => {
    await given(2);
    const { id, deliveries } = await given(4);
    await rooms.database.query(
      "UPDATE deliveries SET created_at = created_at - interval '30 min' WHERE id = ANY ($1)",
      [deliveries.slice(0, 1)],
    );
    await rooms.database.query("UPDATE deliveries SET status = 'delivered' WHERE id = ANY ($1)", [
      deliveries.slice(1, 2),
    ]);
    const tenMinutesAgo = new Date(Date.now() - 600_000).toISOString();
    for (const [fields, matched] of [
      [{}, 3],
      [{ since: '1970-01-01T00:00:00Z' }, 3],
      [{ status: 'delivered' }, 1],
      [{ status: 'canceled' }, 0],
      [{ since: tenMinutesAgo }, 2],
      [{ until: tenMinutesAgo }, 1],
    ] as const) {
      const { status, body } = await replay(id, { since: EVER, dry_run: true, ...fields });
      expect([status, body]).toEqual([200, { dry_run: true, matched }]);
    }
    expect(await generationsOf(id)).toEqual([0, 0, 0, 0]);
    expect((await rooms.send('GET', `/api/v1/webhooks/${id}/replays`)).body.data).toEqual([]);
  });

  it('answers with a bulk replay that goes on, and shows how far it is', async () => {
    const { id, deliveries } = await given(7);
    const { status, body, headers } = await replay(id, { since: EVER });
    expect([status, headers.get('location')]).toEqual([
      202,
      `${rooms.demo.tenant.baseUrl}/api/v1/webhooks/${id}/replays/${body.replay_id}`,
    ]);
    expect(body).toMatchObject({
      subscription_id: id,
      status: 'running',
      delivery_status: 'failed',
      matched: 7,
      replayed: 0,
      remaining: 7,
      workflow_id: `replay/${body.replay_id}`,
    });
    expect(await advance(body.replay_id)).toMatchObject({ step: 'chunk', replayed: 3, remaining: 4 });
    expect(await generationsOf(id)).toEqual([1, 1, 1, 0, 0, 0, 0]);
    expect(await outboxOf(id)).toEqual(
      deliveries.slice(0, 3).map((delivery_id) => ({ delivery_id, kind: 'start', rank: 2 })),
    );
    await advance(body.replay_id);
    expect(await advance(body.replay_id)).toMatchObject({ step: 'wait_for_relay', replayed: 6 });
    await rooms.database.query('DELETE FROM outbox WHERE endpoint = $1', [id]);
    expect(await advance(body.replay_id)).toMatchObject({ step: 'end', status: 'completed', replayed: 7 });
    expect(await read(id, body.replay_id)).toMatchObject({
      status: 'completed',
      end_reason: null,
      matched: 7,
      replayed: 7,
      remaining: 0,
      completed_at: expect.any(String),
    });
    const log = await auditOf(body.replay_id);
    expect(log.map(({ action }) => action)).toEqual(['webhook.replay.started', 'webhook.replay.completed']);
    const [{ status: shown, attempt_count } = { status: '', attempt_count: 0 }] = (
      await rooms.send('GET', `/api/v1/webhooks/${id}/deliveries`)
    ).body.data;
    expect([shown, attempt_count]).toEqual(['retrying', 12]);
  });

  it('says what has become of the deliveries that it has replayed, and of no others', async () => {
    const { id, deliveries } = await given(9);
    const name = await begin(id);
    const nothing = { delivered: 0, waiting: 0, failed: 0, canceled: 0, unknown: 0 };
    expect((await read(id, name)).outcomes).toEqual(nothing);
    await advance(name);
    expect((await read(id, name)).outcomes).toEqual({ ...nothing, waiting: 3 });
    for (let chunk = 0; chunk < 3; chunk += 1) {
      await rooms.database.query('DELETE FROM outbox WHERE endpoint = $1', [id]);
      await advance(name);
    }
    // A replay by hand and a delivery that was never replayed are no part of it.
    const [, other] = await rooms.publish(id, 2);
    await rooms.database.query(
      `UPDATE deliveries SET status = 'failed', generation = 1, completed_at = now() WHERE id = $1`,
      [other],
    );
    for (const [from, to, status] of [
      [0, 4, 'delivered'],
      [4, 6, 'failed'],
      [6, 7, 'canceled'],
      [7, 8, 'pending'],
    ] as const)
      await rooms.database.query('UPDATE deliveries SET status = $2 WHERE id = ANY ($1)', [
        deliveries.slice(from, to),
        status,
      ]);
    const { rows } = await rooms.database.query<{ status: string; count: number }>(
      'SELECT status, count(*)::int AS count FROM deliveries WHERE id = ANY ($1) GROUP BY 1',
      [deliveries],
    );
    const countOf = (...wanted: string[]) =>
      rows.filter(({ status }) => wanted.includes(status)).reduce((sum, { count }) => sum + count, 0);
    const { replayed, outcomes } = await read(id, name);
    expect([replayed, outcomes]).toEqual([
      9,
      {
        ...{ delivered: countOf('delivered'), waiting: countOf('pending', 'retrying') },
        ...{ failed: countOf('failed'), canceled: countOf('canceled'), unknown: 0 },
      },
    ]);
    expect(outcomes).toEqual({ delivered: 4, waiting: 2, failed: 2, canceled: 1, unknown: 0 });
    await rooms.database.query('DELETE FROM deliveries WHERE id = ANY ($1)', [deliveries.slice(0, 3)]);
    expect((await read(id, name)).outcomes).toMatchObject({ delivered: 1, unknown: 3 });
    expect((await rooms.send('GET', `/api/v1/webhooks/${id}/replays`)).body.data[0].outcomes).toBeUndefined();
    // The build before kept no parts.
    await rooms.database.query('DELETE FROM bulk_replay_parts WHERE replay_id = $1', [name]);
    expect((await read(id, name)).outcomes).toEqual({ ...nothing, unknown: 9 });
  });

  it('refuses an inactive subscription, another bulk replay that runs, and a range without an end after its start', async () => {
    const { id } = await given(2);
    await rooms.send('PUT', `/api/v1/webhooks/${id}`, { active: false });
    for (const dryRun of [true, false]) {
      const { status, body } = await replay(id, { since: EVER, dry_run: dryRun });
      expect([status, body.error]).toEqual([409, 'subscription_inactive']);
    }
    await rooms.send('PUT', `/api/v1/webhooks/${id}`, { active: true });
    const running = await begin(id);
    const second = await replay(id, { since: EVER });
    expect([second.status, second.body.error]).toEqual([409, 'conflict']);
    expect(second.body.detail).toContain(running);
    const backwards = await replay(id, { since: EVER, until: EVER });
    expect([backwards.status, backwards.body.errors[0].path]).toEqual([400, 'body.until']);
    for (const body of [{}, { since: 'yesterday' }, { since: EVER, status: 'pending' }])
      expect((await replay(id, body)).status).toBe(400);
  });

  it('opens an endpoint that is held: somebody wants another attempt', async () => {
    const { id } = await given(1);
    await rooms.database.query(
      "UPDATE endpoints SET state = 'held', hold_until = now() + interval '1 hour' WHERE subscription_id = $1",
      [id],
    );
    await begin(id);
    expect((await rooms.send('GET', `/api/v1/webhooks/${id}`)).body.endpoint.state).toBe('open');
  });
});

describe('what is replayed', () => {
  it('is what had ended when it began: each once, also when two move it on at the same moment', async () => {
    const { id, deliveries } = await given(6);
    const [byHand = '', later = ''] = deliveries;
    await rooms.database.query(
      "UPDATE deliveries SET status = 'retrying', completed_at = NULL WHERE id = $1",
      [later],
    );
    const replay = await begin(id);
    // One is replayed by hand and fails again, one fails only now: neither is among those that were counted and had
    // ended.
    await rooms.send('POST', `/api/v1/deliveries/${byHand}/retry`);
    await rooms.database.query(
      "UPDATE deliveries SET status = 'failed', completed_at = now() + interval '1 s' WHERE id = ANY ($1)",
      [[byHand, later]],
    );
    await rooms.database.query('DELETE FROM outbox WHERE endpoint = $1', [id]);
    await Promise.all(Array.from({ length: 6 }, () => advance(replay)));
    expect(await generationsOf(id)).toEqual([1, 0, 1, 1, 1, 1]);
    expect(await outboxOf(id)).toHaveLength(4);
    expect(await read(id, replay)).toMatchObject({
      status: 'completed',
      matched: 5,
      replayed: 4,
      remaining: 0,
    });
  });

  it('is nothing at all when a step cannot be finished', async () => {
    const { id } = await given(4);
    const replay = await begin(id);

    const failing = new BulkReplayStepService({
      store: { ...store, advance: () => Promise.reject(new Error('the process dies')) },
      database: rooms.database,
      notifier: rooms.notifier,
      endpoints: rooms.endpoints,
      records: rooms.records,
    });
    await expect(failing.advance({ tenantId: rooms.demo.tenant.id, id: replay })).rejects.toThrow('dies');
    expect([await generationsOf(id), await outboxOf(id)]).toEqual([[0, 0, 0, 0], []]);
    await advance(replay);
    await advance(replay);
    expect(await generationsOf(id)).toEqual([1, 1, 1, 1]);
  });

  it('waits while the subscription is inactive, and ends when it is deleted', async () => {
    const { id } = await given(7);
    const replay = await begin(id);
    await rooms.send('PUT', `/api/v1/webhooks/${id}`, { active: false });
    expect(await advance(replay)).toMatchObject({ step: 'wait_for_subscription', replayed: 0 });
    await rooms.send('PUT', `/api/v1/webhooks/${id}`, { active: true });
    expect(await advance(replay)).toMatchObject({ step: 'chunk', replayed: 3 });
    await rooms.send('DELETE', `/api/v1/webhooks/${id}`);
    expect(await advance(replay)).toMatchObject({ step: 'end', status: 'canceled', replayed: 3 });
    expect((await auditOf(replay)).at(-1)).toMatchObject({
      action: 'webhook.replay.canceled',
      actor_kind: 'service',
      data: { reason: 'subscription_deleted' },
    });
    expect((await rooms.send('GET', `/api/v1/webhooks/${id}/replays/${replay}`)).status).toBe(404);
  });
});

describe('POST …/replays/{replay_id}/cancel', () => {
  it('replays nothing more, once and again; a completed one is a conflict, and another can begin', async () => {
    const { id } = await given(7);
    const replay = await begin(id);
    await advance(replay);
    for (let time = 0; time < 2; time += 1) {
      const { status, body } = await cancel(id, replay);
      expect([status, body.status, body.end_reason]).toEqual([200, 'canceled', 'canceled']);
      expect([body.replayed, body.remaining]).toEqual([3, 4]);
    }
    expect(await advance(replay)).toMatchObject({ step: 'end', status: 'canceled' });
    expect((await auditOf(replay)).map(({ action }) => action)).toEqual([
      'webhook.replay.started',
      'webhook.replay.canceled',
    ]);
    expect(await generationsOf(id)).toEqual([1, 1, 1, 0, 0, 0, 0]);
    await rooms.database.query('DELETE FROM outbox WHERE endpoint = $1', [id]);
    const next = await begin(id);
    expect(await read(id, next)).toMatchObject({ matched: 4 });
    while ((await advance(next)).step !== 'end');
    expect((await cancel(id, next)).status).toBe(409);
    const { body } = await rooms.send('GET', `/api/v1/webhooks/${id}/replays?limit=1`);
    expect(body.data.map(({ replay_id }: { replay_id: string }) => replay_id)).toEqual([next]);
    const page = await rooms.send('GET', `/api/v1/webhooks/${id}/replays?limit=1&cursor=${body.next_cursor}`);
    expect([page.body.data[0].replay_id, page.body.next_cursor]).toEqual([replay, null]);
  });

  it('knows a bulk replay below its own subscription and tenant only', async () => {
    const { id } = await given(1);
    const replay = await begin(id);
    const other = await rooms.subscribe();
    for (const path of [
      `/api/v1/webhooks/${other}/replays/${replay}`,
      `/t/acme/api/v1/webhooks/${id}/replays/${replay}`,
    ]) {
      expect((await rooms.send('GET', path)).status).toBe(404);
      expect((await rooms.send('POST', `${path}/cancel`)).status).toBe(404);
    }
  });
});
