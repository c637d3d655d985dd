// What a relay does when Temporal, or a statement of its own, was not there in time.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createEngine, type DeliveryEngine, eventually } from '../../workflows/delivery-engine.ts';

let engine: DeliveryEngine;
beforeAll(async () => {
  engine = await createEngine('all');
});
afterAll(() => engine?.close());

it('makes a first attempt itself that has waited too long, though each delivery is to be a workflow', async () => {
  const { id } = await engine.subscribe();
  const [late = ''] = await engine.publish(id);
  await engine.database.query("UPDATE outbox SET created_at = now() - interval '61 s' WHERE id = $1", [late]);
  const { stop } = await engine.startProcess({ relay: { late: 60_000 } });
  const [punctual = ''] = await engine.publish(id);
  expect(await engine.ended(late)).toMatchObject({ status: 'delivered', started_generation: null });
  expect(await engine.ended(punctual)).toMatchObject({ status: 'delivered', started_generation: 0 });
  await stop();
});

it('gives back a claim of its own that it has no work for', async () => {
  const { id, path } = await engine.subscribe();
  const [delivery = ''] = await engine.publish(id);
  const { stop } = await engine.startProcess({ relay: { beat: 50, audit: 50, poll: 50, late: 60_000 } });
  await engine.ended(delivery);
  await eventually(async () => (await engine.outbox()).length === 0, 'the end of its hand-over');
  // As a crash of the database leaves it that has undone the record of the attempt, but not the claim.
  await engine.database.query(
    `WITH undone AS (
       UPDATE deliveries SET status = 'pending', attempt_count = 0, completed_at = NULL, started_generation = NULL, next_attempt_at = now()
       WHERE id = $1 RETURNING id, tenant_id, subscription_id
     ), forgotten AS (DELETE FROM attempts WHERE delivery_id = $1)
     INSERT INTO outbox (id, tenant_id, endpoint, delivery_id, kind, created_at, claimed_by, claim_epoch)
     SELECT u.id, tenant_id, subscription_id, u.id, 'first', now() - interval '61 s', r.instance, r.epoch
     FROM undone u CROSS JOIN relays r`,
    [delivery],
  );
  expect(await engine.ended(delivery)).toMatchObject({ status: 'delivered', attempt_count: 1 });
  expect(engine.receiver.of(path)).toHaveLength(2);
  await eventually(async () => (await engine.outbox()).length === 0, 'the row to be gone');
  await stop();
});
