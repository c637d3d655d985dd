// A retry that is due when its workflow begins is made by the first task of that workflow, and not only parked there.
// docs/decisions/0010-endpoint-recovery.md
import { afterAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { FirstAttemptService } from '../../src/webhooks/relay/first-attempt.service.ts';
import type { Work } from '../../src/webhooks/relay/relay.store.ts';
import { createEngine } from './delivery-engine.ts';

const engine = await createEngine();
afterAll(() => engine.close());

/** A delivery whose first attempt has failed in a process that is gone: no workflow has begun. */
async function tried(delaysMs: number[], answer: Parameters<typeof engine.receiver.answer>[1]) {
  const { attempts, attemptRecords } = engine.createAttempts();
  const { id, path } = await engine.subscribe({ delaysMs });
  engine.receiver.answer(path, answer);
  const [delivery = ''] = await engine.publish(id);
  const work: Work = {
    id: delivery,
    kind: 'first',
    command: null,
    deliveryId: delivery,
    generation: 0,
    tenantId: engine.context.tenant.id,
    endpoint: id,
    status: 'pending',
    rowGeneration: 0,
    attemptCount: 0,
    ownWorkflow: false,
    eventType: 'wallet.tx.signed',
    host: engine.receiver.host,
    epoch: 0,
    paced: false,
  };
  await new FirstAttemptService({ attempts, attemptRecords }).make(work);
  return { id, path, delivery };
}

const change = (id: string, columns: string) =>
  engine.database.query(`UPDATE endpoints SET ${columns} WHERE subscription_id = $1`, [id]);

const makeLate = (delivery: string) =>
  engine.database.query("UPDATE deliveries SET next_attempt_at = now() - interval '1 min' WHERE id = $1", [
    delivery,
  ]);

describe('the history of a delivery that succeeds at its first retry', () => {
  const REFUSED = { status: 500 };
  const HELD = { status: 503, headers: { 'retry-after': '1' } };
  // The retry is due as much later as its record took: a claim between the two would spend the one permit for a while.
  const UNTIL_DUE =
    'hold_until = (SELECT next_attempt_at FROM deliveries d WHERE d.subscription_id = endpoints.subscription_id)';

  it.each([
    ['in time', 'open', '', REFUSED, false],
    ['late', 'open', '', REFUSED, true],
    ['in time', 'paced', 'permits = 3', REFUSED, false],
    ['late', 'paced', 'permits = 3', REFUSED, true],
    ['in time', 'rated', 'rate = 10', REFUSED, false],
    ['late', 'rated', 'rate = 10', REFUSED, true],
    ['in time', 'held by Retry-After until then', UNTIL_DUE, HELD, false],
    ['late', 'held by Retry-After before', 'hold_until = now()', HELD, true],
  ] as const)('begun %s, at an endpoint that is %s, is one task', async (_, __, columns, failure, late) => {
    const { id, delivery } = await tried([1_000], (_, count) => (count === 1 ? failure : { status: 200 }));
    if (columns !== '') await change(id, columns);
    if (late) await makeLate(delivery);
    const { stop } = await engine.startProcess();
    onTestFinished(stop);
    expect(await engine.ended(delivery)).toMatchObject({ status: 'delivered', attempt_count: 2 });
    await engine.workflow(delivery).result();
    expect((await engine.historyOf(delivery)).filter((type) => !type.startsWith('Upsert'))).toEqual([
      'WorkflowExecutionStarted',
      'WorkflowTaskScheduled',
      'WorkflowTaskStarted',
      'WorkflowTaskCompleted',
      'MarkerRecorded',
      'WorkflowExecutionCompleted',
    ]);
  });
});

describe('the retry of a workflow at an endpoint that is paced or has a rate', () => {
  let one: Awaited<ReturnType<typeof tried>>;
  const send = (deliveryId: string) =>
    engine.createAttempts().attempts.send({ deliveryId, generation: 0, n: 2 }, { workflow: true });
  const standing = async () =>
    (
      await engine.database.query('SELECT permits, tokens FROM endpoints WHERE subscription_id = $1', [
        one.id,
      ])
    ).rows[0];
  const takeRows = () => engine.database.query('DELETE FROM outbox WHERE endpoint = $1', [one.id]);

  beforeEach(async () => {
    one = await tried([3_600_000, 3_600_000], () => ({ status: 500 }));
    await makeLate(one.delivery);
    await takeRows();
  });

  it('takes a permit where nothing waits', async () => {
    await change(one.id, 'permits = 1');
    expect(await send(one.delivery)).toMatchObject({ step: { kind: 'wait' }, last: { n: 2 } });
    expect(engine.receiver.of(one.path)).toHaveLength(2);
  });

  it('counts against the rate', async () => {
    await change(one.id, "rate = 1, tokens = 1, tokens_at = now() + interval '1 h'");
    await send(one.delivery);
    expect(engine.receiver.of(one.path)).toHaveLength(2);
    expect(await standing()).toMatchObject({ tokens: 0 });
  });

  it.each([
    ['without a permit', 'permits = 0, permits_at = now()'],
    ['before its rate lets it begin', "rate = 1, tokens = 0.5, tokens_at = now() + interval '1 h'"],
    ['while it is closed', "permits = 1, hold_until = now() + interval '1 h'"],
  ])('is parked %s', async (_, columns) => {
    await change(one.id, columns);
    expect(await send(one.delivery)).toMatchObject({ step: { kind: 'held' } });
    expect(engine.receiver.of(one.path)).toHaveLength(1);
  });

  it('is parked behind those that wait, and takes no permit', async () => {
    await change(one.id, 'permits = 1');
    await engine.publish(one.id);
    expect(await send(one.delivery)).toMatchObject({ step: { kind: 'held' } });
    expect(await standing()).toMatchObject({ permits: 1 });
  });
});
