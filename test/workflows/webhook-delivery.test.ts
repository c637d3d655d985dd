// What becomes of one delivery, by the answers of its receiver.
import { WorkflowNotFoundError } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTurnstile } from './calm.ts';
import { createEngine, type DeliveryEngine, eventually } from './delivery-engine.ts';

describe('a delivery', () => {
  let engine: DeliveryEngine;

  beforeAll(async () => {
    engine = await createEngine();
    await engine.startProcess();
  });
  afterAll(() => engine.close());

  it('is delivered immediately, without a workflow', async () => {
    const { id, path } = await engine.subscribe();
    const [delivery = ''] = await engine.publish(id);
    expect(await engine.ended(delivery)).toMatchObject({ status: 'delivered', attempt_count: 1 });
    expect(engine.receiver.of(path)).toHaveLength(1);
    await eventually(async () => (await engine.outbox()).length === 0, 'an empty outbox');
    expect(await engine.delivery(delivery)).toMatchObject({ started_generation: null });
    await expect(engine.workflow(delivery).describe()).rejects.toBeInstanceOf(WorkflowNotFoundError);
  });

  it('is tried again by the schedule, with the same id, the same body and a fresh signature', async () => {
    const { id, path } = await engine.subscribe({ delaysMs: [1100, 100] });
    engine.receiver.answer(path, (_, count) => ({ status: count < 3 ? 500 : 200 }));
    const [delivery = ''] = await engine.publish(id);
    expect(await engine.ended(delivery)).toMatchObject({
      status: 'delivered',
      attempt_count: 3,
      failed_attempts: 2,
    });
    const posts = engine.receiver.of(path);
    expect(posts.map(({ deliveryId }) => deliveryId)).toEqual([delivery, delivery, delivery]);
    expect(new Set(posts.map(({ body }) => body.toString())).size).toBe(1);
    expect(posts[1]?.headers['x-service-signature-256']).not.toBe(
      posts[0]?.headers['x-service-signature-256'],
    );
    const [first, second, third] = await engine.attempts(delivery);
    expect(Number(second?.started_at) - Number(first?.started_at)).toBeGreaterThanOrEqual(1100);
    expect(Number(third?.started_at) - Number(second?.started_at)).toBeGreaterThanOrEqual(100);
    expect([first?.outcome, second?.outcome, third?.outcome]).toEqual(['retry', 'retry', 'delivered']);
  });

  it('fails when the schedule is exhausted, and tells other subscriptions so', async () => {
    const { id, path } = await engine.subscribe({ delaysMs: [20] });
    const listener = await engine.subscribe({ eventTypes: ['webhook.delivery.failed'] });
    engine.receiver.answer(path, () => ({ status: 503 }));
    const [delivery = ''] = await engine.publish(id);
    expect(await engine.ended(delivery)).toMatchObject({
      status: 'failed',
      attempt_count: 2,
      last_error: 'http:503',
    });
    const told = await eventually(
      () => engine.receiver.of(listener.path).find(({ body }) => body.includes(delivery)),
      'the event about the failure',
    );
    expect(told.headers['x-service-event']).toBe('webhook.delivery.failed');
    expect(JSON.parse(told.body.toString()).data).toMatchObject({
      delivery_id: delivery,
      subscription_id: id,
      reason: 'exhausted',
      attempt_count: 2,
    });
    expect(engine.receiver.of(path)).toHaveLength(2);
    const { rows } = await engine.database.query(
      'SELECT action, outcome, actor_kind, data FROM audit_log WHERE target_id = $1',
      [delivery],
    );
    expect(rows).toEqual([
      {
        action: 'webhook.delivery.failed',
        outcome: 'failure',
        actor_kind: 'service',
        data: expect.objectContaining({ subscription_id: id, reason: 'exhausted', attempt_count: 2 }),
      },
    ]);
  });

  it('emits nothing when the failed delivery was itself about webhooks', async () => {
    const { id, path } = await engine.subscribe({ delaysMs: [] });
    engine.receiver.answer(path, () => ({ status: 500 }));
    const { deliveryId } = await engine.subscriptions.sendTest(engine.context, id);
    expect(await engine.ended(deliveryId)).toMatchObject({ status: 'failed', attempt_count: 1 });
    const { rows } = await engine.database.query(
      `SELECT 1 FROM events WHERE convert_from(body, 'UTF8') LIKE $1`,
      [`%webhook.delivery.failed%${deliveryId}%`],
    );
    expect(rows).toEqual([]);
  });

  it('comes again after 401, 403 and 404: the receiver may be mended', async () => {
    const { id, path } = await engine.subscribe({ delaysMs: [10, 10, 10] });
    engine.receiver.answer(path, (_, count) => ({ status: [401, 403, 404][count - 1] ?? 204 }));
    const [delivery = ''] = await engine.publish(id);
    expect(await engine.ended(delivery)).toMatchObject({ status: 'delivered', attempt_count: 4 });
  });

  it('fails for good on another 4xx', async () => {
    const { id, path } = await engine.subscribe();
    engine.receiver.answer(path, () => ({ status: 422 }));
    const [delivery = ''] = await engine.publish(id);
    expect(await engine.ended(delivery)).toMatchObject({
      status: 'failed',
      attempt_count: 1,
      last_error: 'http:422',
    });
    expect(engine.receiver.of(path)).toHaveLength(1);
  });

  it('deactivates the subscription on 410, and later deliveries wait', async () => {
    const { id, path } = await engine.subscribe();
    engine.receiver.answer(path, () => ({ status: 410 }));
    const [delivery = ''] = await engine.publish(id);
    expect(await engine.ended(delivery)).toMatchObject({ status: 'failed', attempt_count: 1 });
    const subscription = await engine.subscriptions.get(engine.context, id);
    expect(subscription).toMatchObject({ active: false, disabledReason: 'gone' });
    const [next = ''] = await engine.publish(id);
    await engine.quiet(id);
    expect(await engine.delivery(next)).toMatchObject({ status: 'pending', attempt_count: 0 });
    expect(engine.receiver.of(path)).toHaveLength(1);
  });

  it('leaves the subscription active when a test meets 410', async () => {
    const { id, path } = await engine.subscribe();
    engine.receiver.answer(path, () => ({ status: 410 }));
    const { deliveryId } = await engine.subscriptions.sendTest(engine.context, id);
    expect(await engine.ended(deliveryId)).toMatchObject({ status: 'failed' });
    expect(await engine.subscriptions.get(engine.context, id)).toMatchObject({ active: true });
  });

  it('comes never earlier than Retry-After, and holds the others of its subscription meanwhile', async () => {
    const { id, path } = await engine.subscribe({ delaysMs: [10, 10] });
    engine.receiver.answer(path, (_, count) =>
      count === 1 ? { status: 429, headers: { 'retry-after': '2' } } : { status: 204 },
    );
    const [first = ''] = await engine.publish(id);
    await eventually(() => engine.receiver.of(path).length >= 1, 'the first attempt');
    await eventually(async () => (await engine.attempts(first)).length === 1, 'its record');
    const [other = ''] = await engine.publish(id);
    expect((await engine.deliveries.get(engine.context, other)).status).toBe('held');
    await engine.ended(first);
    await engine.ended(other);
    const [failed, second] = await engine.attempts(first);
    expect(Number(second?.started_at) - Number(failed?.started_at)).toBeGreaterThanOrEqual(2000);
    const [only, ...more] = await engine.attempts(other);
    expect(more).toEqual([]);
    expect(Number(only?.started_at) - Number(failed?.started_at)).toBeGreaterThanOrEqual(2000);
  });

  it('is retried immediately when a person asks, and counts on from there', async () => {
    const { id, path } = await engine.subscribe({ delaysMs: [3_600_000, 3_600_000] });
    engine.receiver.answer(path, (_, count) => ({ status: count < 2 ? 500 : 200 }));
    const [delivery = ''] = await engine.publish(id);
    await eventually(async () => (await engine.delivery(delivery)).attempt_count >= 1, 'the first record');
    await engine.deliveries.retry(engine.context, delivery);
    expect(await engine.ended(delivery)).toMatchObject({
      status: 'delivered',
      attempt_count: 2,
      generation: 0,
    });
  });

  it('makes one attempt for one request to retry, even when it comes while an attempt is under way', async () => {
    const { id, path } = await engine.subscribe({ delaysMs: [3_600_000, 3_600_000] });
    const second = createTurnstile();
    const answer = second.close();
    engine.receiver.answer(path, async (_, count) => {
      if (count === 2) await second.pass();
      return { status: 500 };
    });
    const [delivery = ''] = await engine.publish(id);
    await eventually(async () => (await engine.delivery(delivery)).attempt_count >= 1, 'the first record');
    await engine.deliveries.retry(engine.context, delivery);
    await eventually(() => engine.receiver.of(path).length >= 2, 'the second attempt');
    await engine.deliveries.retry(engine.context, delivery);
    answer();
    await eventually(async () => (await engine.attempts(delivery)).length === 3, 'the third record');
    await engine.quiet(id);
    expect(engine.receiver.of(path)).toHaveLength(3);
    expect(await engine.delivery(delivery)).toMatchObject({ status: 'failed', failed_attempts: 3 });
  });

  it('ends when it is canceled while it waits', async () => {
    const { id, path } = await engine.subscribe({ delaysMs: [3_600_000] });
    engine.receiver.answer(path, () => ({ status: 500 }));
    const [delivery = ''] = await engine.publish(id);
    await engine.failedOnce(delivery);
    await engine.deliveries.cancel(engine.context, delivery);
    expect((await engine.workflow(delivery).result()).status).toBe('canceled');
    expect(await engine.delivery(delivery)).toMatchObject({ status: 'canceled', attempt_count: 1 });
    expect(engine.receiver.of(path)).toHaveLength(1);
  });

  it('is delivered although it was canceled meanwhile, when the receiver has taken it', async () => {
    const { id, path } = await engine.subscribe();
    const taken = createTurnstile();
    const answer = taken.close();
    engine.receiver.answer(path, async () => {
      await taken.pass();
      return { status: 200 };
    });
    const [delivery = ''] = await engine.publish(id);
    await eventually(() => engine.receiver.of(path).length >= 1, 'the attempt');
    await engine.deliveries.cancel(engine.context, delivery);
    expect(await engine.delivery(delivery)).toMatchObject({ status: 'canceled' });
    answer();
    await eventually(async () => (await engine.delivery(delivery)).status === 'delivered', 'the answer');
  });

  it('begins anew as the next generation when an ended one is replayed', async () => {
    const { id, path } = await engine.subscribe({ delaysMs: [] });
    engine.receiver.answer(path, (_, count) => ({ status: count < 2 ? 500 : 200 }));
    const [delivery = ''] = await engine.publish(id);
    expect(await engine.ended(delivery)).toMatchObject({ status: 'failed' });
    await engine.deliveries.retry(engine.context, delivery);
    await eventually(async () => (await engine.delivery(delivery)).status === 'delivered', 'the replay');
    expect(await engine.delivery(delivery)).toMatchObject({ generation: 1, attempt_count: 2 });
    expect((await engine.workflow(delivery, 1).result()).attempts).toBe(2);
    expect((await engine.attempts(delivery)).map(({ n, generation }) => [n, generation])).toEqual([
      [1, 0],
      [2, 1],
    ]);
    expect(engine.receiver.of(path).map(({ deliveryId }) => deliveryId)).toEqual([delivery, delivery]);
  });

  it('counts its attempts in Temporal as in the API, although nothing else changes', async () => {
    const { id, path } = await engine.subscribe({ delaysMs: [100, 100, 3_600_000] });
    engine.receiver.answer(path, () => ({ status: 500 }));
    const [delivery = ''] = await engine.publish(id);
    await eventually(async () => (await engine.delivery(delivery)).attempt_count === 3, 'three records');
    const handle = engine.workflow(delivery);
    await eventually(async () => {
      const now = await handle.query<{ doing: string; nextAttempt: number }>('state');
      return now.doing === 'waiting' && now.nextAttempt === 4;
    }, 'the wait');
    const attributes = (await handle.describe()).typedSearchAttributes.getAll();
    expect(attributes.find(({ key }) => key.name === 'AttemptCount')?.value).toBe(3);
    await engine.deliveries.cancel(engine.context, delivery);
  });

  it.each([
    ['delivered', 200, undefined, 'http:500'],
    ['failed', 422, 'failed', 'http:422'],
  ] as const)(
    'that ends as %s is in a list of failed ones only when it failed',
    async (status, code, shown, outcome) => {
      const { id, path } = await engine.subscribe({ delaysMs: [1] });
      engine.receiver.answer(path, (_, count) => ({ status: count < 2 ? 500 : code }));
      const [delivery = ''] = await engine.publish(id);
      expect(await engine.ended(delivery)).toMatchObject({ status });
      const handle = engine.workflow(delivery);
      await handle.result();
      const attributes = Object.fromEntries(
        (await handle.describe()).typedSearchAttributes.getAll().map(({ key, value }) => [key.name, value]),
      );
      expect(attributes.DeliveryStatus).toBe(shown);
      expect(attributes.LastOutcome).toBe(outcome);
      expect((await engine.historyOf(delivery)).filter((type) => type.startsWith('Upsert'))).toHaveLength(
        shown === undefined ? 0 : 1,
      );
    },
  );

  it('shows an operator what it is and what it waits for, and nothing secret', async () => {
    const { id, path } = await engine.subscribe({ delaysMs: [3_600_000], path: '/hook/with-a-secret-token' });
    engine.receiver.answer(path, () => ({ status: 500, body: 'a text of the receiver' }));
    const [delivery = ''] = await engine.publish(id);
    await engine.failedOnce(delivery);
    const handle = engine.workflow(delivery);
    const state = await eventually(async () => {
      const now = await handle.query<{ doing: string }>('state');
      return now.doing === 'waiting' && now;
    }, 'the wait');
    expect(state).toMatchObject({ nextAttempt: 2, lastOutcome: 'http:500' });
    const description = await handle.describe();
    expect(await description.staticSummary()).toBe(`${engine.receiver.host} · wallet.tx.signed`);
    const attributes = Object.fromEntries(
      description.typedSearchAttributes.getAll().map(({ key, value }) => [key.name, value]),
    );
    expect(attributes).toMatchObject({
      TenantId: engine.context.tenant.id,
      SubscriptionId: id,
      EventType: 'wallet.tx.signed',
      EndpointHost: engine.receiver.host,
      LastOutcome: 'http:500',
      AttemptCount: 1,
    });
    const history = JSON.stringify(await handle.fetchHistory());
    const decoded = [...history.matchAll(/"data":"([^"]+)"/g)].map(([, data]) =>
      Buffer.from(data ?? '', 'base64').toString(),
    );
    expect(decoded.join('\n')).not.toMatch(/secret-token|whsec|text of the receiver/);
    const { rows } = await engine.database.query<{ response_excerpt: string }>(
      'SELECT response_excerpt FROM attempts WHERE delivery_id = $1',
      [delivery],
    );
    expect(rows[0]?.response_excerpt).toBe('a text of the receiver');
  });
});
