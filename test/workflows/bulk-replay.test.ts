// bulkReplay with everything real: what failed goes out again once, whatever part is away for a while.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { BulkReplayState } from '../../workflows/bulk-replay.ts';
import { createEngine, type DeliveryEngine, eventually } from './delivery-engine.ts';

const since = new Date('2020-01-01T00:00:00Z');

describe('bulkReplay', () => {
  let engine: DeliveryEngine;
  beforeEach(async () => {
    engine = await createEngine();
  });
  afterEach(() => engine.close());

  /** A subscription whose receiver refused some deliveries, and would take them now. */
  const givenFailed = async (count: number) => {
    const one = await engine.subscribe();
    engine.receiver.answer(one.path, () => ({ status: 400 }));
    const ids = await engine.publish(one.id, count);
    for (const id of ids) await engine.ended(id);
    engine.receiver.answer(one.path, () => ({ status: 204 }));
    return { ...one, ids };
  };
  const begin = async (id: string) =>
    (await engine.bulkReplays.begin(engine.context, id, { since, status: 'failed' })).id;
  const workflow = (replay: string) => engine.entity('bulkReplay', replay);
  const endOf = (replay: string) =>
    eventually(
      () =>
        workflow(replay)
          .result()
          .catch(() => undefined),
      'its end',
    );

  it('replays everything once, although its worker is away in the middle of it', async () => {
    const first = await engine.startProcess();
    const { id, path, ids } = await givenFailed(17);
    engine.startRunner();
    const replay = await begin(id);
    await eventually(
      async () => (await engine.bulkReplays.get(engine.context, id, replay)).replayed > 0,
      'a chunk',
    );
    await first.stop();
    await engine.startProcess();
    expect(await endOf(replay)).toEqual({ status: 'completed', matched: 17, replayed: 17 });
    for (const delivery of ids) {
      await eventually(async () => (await engine.delivery(delivery)).status === 'delivered', delivery);
      expect(await engine.delivery(delivery)).toMatchObject({ generation: 1, attempt_count: 2 });
    }
    expect(engine.receiver.of(path)).toHaveLength(34);
  });

  it('waits for an inactive subscription, and goes on when it is active again', async () => {
    await engine.startProcess();
    const { id, ids } = await givenFailed(3);
    const replay = await begin(id);
    await engine.subscriptions.update(engine.context, id, { active: false });
    engine.startRunner();
    await eventually(async () => {
      const state = await workflow(replay)
        .query<BulkReplayState>('state')
        .catch(() => undefined);
      return state?.doing === 'waiting for the subscription' && state.remaining === 3;
    }, 'the workflow to wait');
    await engine.subscriptions.update(engine.context, id, { active: true });
    expect(await endOf(replay)).toMatchObject({ status: 'completed', replayed: 3 });
    for (const delivery of ids)
      await eventually(async () => (await engine.delivery(delivery)).status === 'delivered', delivery);
  });

  it('can be canceled by an operator, who is audited', async () => {
    await engine.startProcess();
    const { id } = await givenFailed(2);
    const replay = await begin(id);
    await engine.subscriptions.update(engine.context, id, { active: false });
    engine.startRunner();
    await eventually(async () => {
      const told = workflow(replay).executeUpdate('cancel', { args: ['asked by phone'] });
      return told.then(
        () => true,
        () => false,
      );
    }, 'the update');
    expect(await endOf(replay)).toEqual({ status: 'canceled', matched: 2, replayed: 0 });
    const { rows } = await engine.database.query(
      'SELECT action, actor_kind, actor_id, data FROM audit_log WHERE target_id = $1 ORDER BY id DESC LIMIT 1',
      [replay],
    );
    expect(rows).toEqual([
      expect.objectContaining({
        action: 'webhook.replay.canceled',
        actor_kind: 'operator',
        actor_id: engine.client.options.identity,
        data: expect.objectContaining({ reason: 'asked by phone' }),
      }),
    ]);
  });
});
