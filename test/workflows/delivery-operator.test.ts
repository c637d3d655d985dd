// What an operator does with a delivery's workflow: decided in Postgres, audited in the operator's name, refused with a
// reason.
import { randomUUID } from 'node:crypto';
import { afterAll, describe, expect, it } from 'vitest';
import { createEngine, eventually } from './delivery-engine.ts';

const HOUR = 3_600_000;
const engine = await createEngine();
await engine.startProcess();
afterAll(() => engine.close());

/** A delivery that failed once, and whose workflow waits for an hour. */
async function waiting(answer: () => { status: number } = () => ({ status: 500 })) {
  const { id, path } = await engine.subscribe({ delaysMs: [HOUR] });
  let first = true;
  engine.receiver.answer(path, () => {
    const status = first ? 500 : answer().status;
    first = false;
    return { status };
  });
  const [delivery = ''] = await engine.publish(id);
  await begun(delivery);
  return { delivery, path };
}

const begun = (deliveryId: string) =>
  eventually(
    async () => (await engine.starter.stateOf({ deliveryId, generation: 0 })) !== 'gone',
    'its workflow',
  );

/** A delivery that was refused for good and is replayed: its workflow makes the attempt that `answer` meets. */
async function replayed(answer: (deliveryId: string) => Promise<number>) {
  const { id, path } = await engine.subscribe({ delaysMs: [HOUR] });
  engine.receiver.answer(path, async ({ deliveryId }, count) => ({
    status: count === 1 ? 422 : await answer(deliveryId),
  }));
  const [delivery = ''] = await engine.publish(id);
  await engine.ended(delivery);
  await engine.deliveries.retry(engine.context, delivery);
  return { delivery, path, workflow: engine.workflow(delivery, 1) };
}

/** The identity that the tests' client gives to Temporal. */
const me = engine.client.options.identity;

const auditOf = async (id: string) =>
  (
    await engine.database.query<{
      action: string;
      actor_kind: string;
      actor_id: string | null;
      data: { reason?: string };
    }>('SELECT action, actor_kind, actor_id, data FROM audit_log WHERE target_id = $1 ORDER BY id', [id])
  ).rows;

describe("Temporal's cancellation, the button of its UI", () => {
  const cancel = (delivery: string) => engine.workflow(delivery).cancel();
  const isCancellation = ({ action }: { action: string }) => action === 'webhook.delivery.canceled';
  const nameOf = async (delivery: string) => (await engine.workflow(delivery).describe()).status.name;

  it('cancels a waiting delivery, as the update does, and nothing is sent any more', async () => {
    const { delivery, path } = await waiting();
    await cancel(delivery);
    expect(await engine.workflow(delivery).result()).toMatchObject({ status: 'canceled', attempts: 1 });
    expect(await nameOf(delivery)).toBe('COMPLETED');
    expect(await engine.delivery(delivery)).toMatchObject({ status: 'canceled', next_attempt_at: null });
    expect(await auditOf(delivery)).toMatchObject([
      {
        action: 'webhook.delivery.canceled',
        actor_kind: 'operator',
        actor_id: me,
        data: { reason: 'canceled in Temporal' },
      },
    ]);
    expect(engine.receiver.of(path)).toHaveLength(1);
  });

  it('cancels a delivery that waits for its endpoint', async () => {
    const { id, path } = await engine.subscribe({ delaysMs: Array.from({ length: 20 }, () => 300) });
    engine.receiver.answer(path, () => ({ status: 500 }));
    const [delivery = ''] = await engine.publish(id);
    await begun(delivery);
    await engine.subscriptions.update(engine.context, id, { active: false });
    await eventually(async () => (await engine.delivery(delivery)).waiting_epoch !== null, 'its wait');
    await cancel(delivery);
    expect(await engine.workflow(delivery).result()).toMatchObject({ status: 'canceled' });
    expect((await engine.delivery(delivery)).status).toBe('canceled');
  });

  it.each([
    [500, 'canceled'],
    [204, 'delivered'],
  ])('lets an attempt under way end, and records it: %i, %s', async (status, end) => {
    const { delivery, path, workflow } = await replayed(async (deliveryId) => {
      await engine.workflow(deliveryId, 1).cancel();
      await eventually(async () => (await auditOf(deliveryId)).some(isCancellation), 'the cancellation');
      return status;
    });
    await eventually(async () => (await engine.delivery(delivery)).attempt_count === 2, 'the record');
    expect(await workflow.result()).toMatchObject({ status: end, attempts: 2 });
    expect(await engine.delivery(delivery)).toMatchObject({ status: end, attempt_count: 2 });
    expect(engine.receiver.of(path)).toHaveLength(2);
  });
});

describe('an operator', () => {
  it('retries a waiting delivery now', async () => {
    const { delivery, path } = await waiting(() => ({ status: 204 }));
    await engine.workflow(delivery).executeUpdate('retry', { args: ['the receiver is mended'] });
    expect(await engine.ended(delivery)).toMatchObject({ status: 'delivered', attempt_count: 2 });
    expect(engine.receiver.of(path)).toHaveLength(2);
    expect(await auditOf(delivery)).toMatchObject([
      {
        action: 'webhook.delivery.retried',
        actor_kind: 'operator',
        actor_id: me,
        data: { reason: 'the receiver is mended' },
      },
    ]);
    expect(await engine.workflow(delivery).result()).toMatchObject({ status: 'delivered', attempts: 2 });
  });

  it('cancels a waiting delivery, without a reason too', async () => {
    const { delivery, path } = await waiting();
    await engine.workflow(delivery).executeUpdate('cancel');
    expect(await engine.workflow(delivery).result()).toMatchObject({ status: 'canceled' });
    expect((await engine.delivery(delivery)).status).toBe('canceled');
    expect(engine.receiver.of(path)).toHaveLength(1);
    const [entry] = await auditOf(delivery);
    expect(entry).toMatchObject({
      action: 'webhook.delivery.canceled',
      actor_kind: 'operator',
      actor_id: me,
    });
    expect(entry?.data).not.toHaveProperty('reason');
  });

  it('is refused a reason that is no text or too long, before anything is written', async () => {
    const { delivery } = await waiting();
    for (const reason of [7, 'x'.repeat(501)])
      await expect(engine.workflow(delivery).executeUpdate('cancel', { args: [reason] })).rejects.toThrow();
    expect((await engine.delivery(delivery)).status).toBe('retrying');
    expect(await auditOf(delivery)).toEqual([]);
  });

  it('does the same by signals, as a batch sends them', async () => {
    const retried = await waiting(() => ({ status: 204 }));
    await engine.workflow(retried.delivery).signal('operatorRetry', 'the receiver is mended');
    expect(await engine.ended(retried.delivery)).toMatchObject({ status: 'delivered', attempt_count: 2 });
    const canceled = await waiting();
    await engine.workflow(canceled.delivery).signal('operatorCancel');
    expect(await engine.workflow(canceled.delivery).result()).toMatchObject({ status: 'canceled' });
    expect((await auditOf(retried.delivery)).concat(await auditOf(canceled.delivery))).toMatchObject([
      {
        action: 'webhook.delivery.retried',
        actor_kind: 'operator',
        actor_id: me,
        data: { reason: 'the receiver is mended' },
      },
      { action: 'webhook.delivery.canceled', actor_kind: 'operator', actor_id: me },
    ]);
  });

  it('is not heard with a reason that is none, and the delivery goes on', async () => {
    const { delivery } = await waiting(() => ({ status: 204 }));
    for (const reason of [7, 'x'.repeat(501)])
      await engine.workflow(delivery).signal('operatorCancel', reason);
    // Handled after the signals, in the same order.
    expect(await engine.workflow(delivery).query<{ doing: string }>('state')).toMatchObject({
      doing: 'waiting',
    });
    expect((await engine.delivery(delivery)).status).toBe('retrying');
    await engine.workflow(delivery).signal('operatorRetry');
    expect(await engine.ended(delivery)).toMatchObject({ status: 'delivered', attempt_count: 2 });
    expect((await auditOf(delivery)).map(({ action }) => action)).toEqual(['webhook.delivery.retried']);
  });

  it('does not send again what arrives at that moment: a batch meets many that have just ended', async () => {
    const { delivery, path, workflow } = await replayed(async (deliveryId) => {
      await engine.workflow(deliveryId, 1).signal('operatorRetry', 'by a batch');
      return 204;
    });
    await engine.ended(delivery);
    expect(await workflow.result()).toMatchObject({ status: 'delivered' });
    const row = await engine.delivery(delivery);
    expect([row.status, row.generation, engine.receiver.of(path).length]).toEqual(['delivered', 1, 2]);
    const replays = (await auditOf(delivery)).filter(({ action }) => action === 'webhook.delivery.replayed');
    expect(replays).toMatchObject([{ actor_kind: expect.not.stringMatching('operator') }]);
  });

  it('is refused the retry of a delivery that has ended, and is told how it is replayed', async () => {
    const { delivery } = await waiting();
    await engine.database.query(
      `UPDATE deliveries SET status = 'delivered', completed_at = now(), next_attempt_at = NULL WHERE id = $1`,
      [delivery],
    );
    const refusal = await engine
      .workflow(delivery)
      .executeUpdate('retry')
      .catch((error: Error) => (error.cause as Error).cause);
    expect(String(refusal)).toMatch(/has ended: it is delivered/);
    expect((await engine.delivery(delivery)).generation).toBe(0);
  });

  it('is told why when it cannot be: the delivery is not there any more', async () => {
    const { delivery } = await waiting();
    await engine.database.query('UPDATE deliveries SET id = $2 WHERE id = $1', [delivery, randomUUID()]);
    const refusal = await engine
      .workflow(delivery)
      .executeUpdate('cancel')
      .catch((error: Error) => (error.cause as Error).cause);
    expect(String(refusal)).toMatch(/There is no delivery with this id/);
  });
});
