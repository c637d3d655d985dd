// What a relay does with a claim that the database remembers and the relay does not.
import { afterAll, expect, it } from 'vitest';
import { createEngine, eventually } from '../../workflows/delivery-engine.ts';

const engine = await createEngine();
afterAll(() => engine.close());

it('gives back a claim of its own that it has no work for', async () => {
  const { id, path } = await engine.subscribe();
  const [delivery = ''] = await engine.publish(id);
  const { stop } = await engine.startProcess({ relay: { beat: 50, audit: 50, poll: 50 } });
  await engine.ended(delivery);
  await eventually(async () => (await engine.outbox()).length === 0, 'the end of its hand-over');
  // As a crash of the database leaves it that has undone the record of the attempt, but not the claim.
  await engine.database.query(
    `WITH undone AS (
       UPDATE deliveries SET status = 'pending', attempt_count = 0, completed_at = NULL, started_generation = NULL, next_attempt_at = now()
       WHERE id = $1 RETURNING id, tenant_id, subscription_id
     ), forgotten AS (DELETE FROM attempts WHERE delivery_id = $1)
     INSERT INTO outbox (id, tenant_id, endpoint, delivery_id, kind, created_at, claimed_by, claim_epoch)
     SELECT u.id, tenant_id, subscription_id, u.id, 'first', now(), r.instance, r.epoch
     FROM undone u CROSS JOIN relays r`,
    [delivery],
  );
  expect(await engine.ended(delivery)).toMatchObject({ status: 'delivered', attempt_count: 1 });
  expect(engine.receiver.of(path)).toHaveLength(2);
  await eventually(async () => (await engine.outbox()).length === 0, 'the row to be gone');
  await stop();
});
