// SQL of polled streams: unfinished deliveries are what a receiver can still fetch, and an acknowledgement ends one. An
// outbox row of a polled stream is never claimed, because its endpoint is inactive; it goes with its delivery.
import type { Queryable } from '../../platform/database/transaction.ts';

/** A delivery that a receiver has not acknowledged, with the bytes of its event. */
export type WaitingDelivery = { readonly id: string; readonly body: Buffer };

/** A delivery that a receiver has refused. */
export type RefusedDelivery = { readonly id: string; readonly eventId: string; readonly eventType: string };

const WAITING = `
SELECT d.id, e.body FROM (
  SELECT id, event_row FROM deliveries WHERE subscription_id = $1 AND status IN ('pending', 'retrying') ORDER BY id LIMIT $2
) AS d JOIN events e ON e.id = d.event_row ORDER BY d.id`;

// Deliveries are locked in id order, as in all statements that lock several.
const END = `
WITH locked AS (
  SELECT id FROM deliveries WHERE subscription_id = $1 AND id = ANY($2::uuid[]) AND status IN ('pending', 'retrying')
  ORDER BY id FOR UPDATE
), ended AS (
  UPDATE deliveries d SET status = $3, completed_at = now(), next_attempt_at = NULL, waiting_epoch = NULL, needs_workflow = false,
    last_error = w.error
  FROM locked l JOIN unnest($2::uuid[], $4::text[]) AS w (id, error) ON w.id = l.id WHERE d.id = l.id
  RETURNING d.id, d.event_id AS "eventId", d.event_type AS "eventType", d.test
), handed_over AS (
  DELETE FROM outbox o USING ended e WHERE o.delivery_id = e.id
)
SELECT id, "eventId", "eventType" FROM ended WHERE NOT test`;

/** Reads the oldest deliveries that are not acknowledged, at most `limit`. */
export async function waiting(
  queryable: Queryable,
  streamId: string,
  limit: number,
): Promise<WaitingDelivery[]> {
  return (await queryable.query<WaitingDelivery>(WAITING, [streamId, limit])).rows;
}

/** Ends acknowledged deliveries. Unknown and ended ids are left out. */
export async function acknowledge(unit: Queryable, streamId: string, ids: readonly string[]): Promise<void> {
  await unit.query(END, [streamId, ids, 'delivered', ids.map(() => null)]);
}

/** Ends refused deliveries. @returns those that were unfinished and are no tests */
export async function refuse(
  unit: Queryable,
  streamId: string,
  refused: readonly { readonly id: string; readonly error: string }[],
): Promise<RefusedDelivery[]> {
  const values = [streamId, refused.map(({ id }) => id), 'failed', refused.map(({ error }) => error)];
  return (await unit.query<RefusedDelivery>(END, values)).rows;
}
