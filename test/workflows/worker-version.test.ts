// Two builds of the workers: the work goes over from one to the other, and nothing of it is lost.
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RECOVERY_SETTINGS } from '../../src/webhooks/endpoints/recovery-settings.ts';
import type { SecretRotationState } from '../../workflows/webhook-secret-rotation.ts';
import { makeCurrent } from './current-build.ts';
import { createEngine, type DeliveryEngine, eventually } from './delivery-engine.ts';

/** Events whose retry no worker has made yet. */
const MOST_AHEAD = 40;

let engine: DeliveryEngine;
beforeAll(async () => {
  // No endpoint closes: a receiver refuses each first attempt, so that each delivery is a workflow.
  engine = await createEngine({ recovery: { ...RECOVERY_SETTINGS, failures: 1_000_000 } });
});
afterAll(() => engine?.close());

describe('two builds of the workers', () => {
  const deploymentName = `countersign-${randomUUID()}`;
  /** Which build made which attempt. */
  const made: { build: string; deliveryId: string }[] = [];
  const buildsOf = (delivery: string) =>
    made.filter(({ deliveryId }) => deliveryId === delivery).map(({ build }) => build);

  const startBuild = (buildId: string) =>
    engine.startProcess({
      version: { deploymentName, buildId },
      wrap: (activities) => ({
        ...activities,
        sendDelivery: (request) => {
          made.push({ build: buildId, deliveryId: request.deliveryId });
          return activities.sendDelivery(request);
        },
      }),
    });

  /** A subscription whose receiver refuses so many attempts of each delivery. */
  const subscribe = async (refused: number, delaysMs: number[]) => {
    const subscription = await engine.subscribe({ delaysMs });
    const seen = new Map<string, number>();
    engine.receiver.answer(subscription.path, ({ deliveryId }) => {
      seen.set(deliveryId, (seen.get(deliveryId) ?? 0) + 1);
      return { status: (seen.get(deliveryId) ?? 0) > refused ? 200 : 500 };
    });
    return subscription;
  };

  const attempts = (delivery: string, count: number) =>
    eventually(async () => (await engine.delivery(delivery)).attempt_count >= count, `${count} attempts`);

  it('hand deliveries and entities over, while events go on being published', async () => {
    const { namespace, context } = engine;
    engine.startRunner();
    const a = await startBuild('a');
    const steady = await subscribe(1, [1]);
    // A build that is not current gets nothing, also where its own relay starts the workflow.
    const [early = ''] = await engine.publish(steady.id);
    await eventually(
      async () => (await engine.delivery(early)).started_generation === 0,
      'the start of the workflow',
    );
    expect(made).toEqual([]);
    await makeCurrent(namespace, 'a', deploymentName);
    expect(await engine.ended(early)).toMatchObject({ status: 'delivered' });

    // In flight: one between two attempts, one at a closed endpoint, an entity that waits.
    const failing = await subscribe(2, [1, 3_600_000]);
    const parking = await subscribe(1, [1_000]);
    const [retried = ''] = await engine.publish(failing.id);
    await attempts(retried, 2);
    const [parked = ''] = await engine.publish(parking.id);
    await attempts(parked, 1);
    await engine.subscriptions.update(context, parking.id, { active: false });
    await eventually(async () => (await engine.delivery(parked)).waiting_epoch !== null, 'its wait');
    await engine.signingSecrets.rotate(context, steady.id, { overlapSeconds: 600 });
    const rotation = engine.entity('webhookSecretRotation', steady.id);
    await eventually(async () => {
      const state = await rotation.query<SecretRotationState>('state').catch(() => undefined);
      return state?.doing === 'waiting';
    }, 'the rotation to wait');

    const deliveries: string[] = [];
    let publishing = true;
    // No more than a slow machine sends: a queue would keep its pollers from a new build.
    const isAhead = () => deliveries.length > made.length + MOST_AHEAD;
    const publisher = (async () => {
      for (; publishing; await sleep(50))
        if (!isAhead()) deliveries.push(...(await engine.publish(steady.id, 2)));
    })();
    const has = (build: string, count: number) =>
      eventually(() => made.filter((attempt) => attempt.build === build).length >= count, `build ${build}`);
    let atStop = 0;
    try {
      await has('a', 20);
      await startBuild('b');
      await makeCurrent(namespace, 'b', deploymentName);
      await has('b', 20);
      await a.stop();
      atStop = made.length;
      await has('b', made.filter(({ build }) => build === 'b').length + 20);
    } finally {
      publishing = false;
      await publisher;
    }

    for (const delivery of deliveries)
      expect(await engine.ended(delivery)).toMatchObject({ status: 'delivered', attempt_count: 2 });
    expect(new Set(made.slice(atStop).map(({ build }) => build))).toEqual(new Set(['b']));
    // None was lost, and no retry was posted by both. On a busy machine a send may find no place and is repeated.
    const posts = engine.receiver.of(steady.path).map(({ deliveryId }) => deliveryId);
    expect(posts.toSorted()).toEqual([early, ...deliveries].flatMap((id) => [id, id]).toSorted());

    await engine.deliveries.retry(context, retried);
    await engine.subscriptions.update(context, parking.id, { active: true });
    for (const [delivery, count] of [
      [retried, 3],
      [parked, 2],
    ] as const) {
      expect(await engine.ended(delivery)).toMatchObject({ status: 'delivered', attempt_count: count });
      expect(buildsOf(delivery).at(0)).toBe('a');
      expect(buildsOf(delivery).at(-1)).toBe('b');
      expect(await engine.workflow(delivery).result()).toMatchObject({
        status: 'delivered',
        attempts: count,
      });
    }
    await engine.database.query('UPDATE subscriptions SET secret_overlap_ends_at = now() WHERE id = $1', [
      steady.id,
    ]);
    await rotation.signal('changed');
    expect(await rotation.result()).toEqual({ secrets: 'one' });
  });
});
