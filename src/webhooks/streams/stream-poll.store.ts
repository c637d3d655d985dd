// SQL of polled streams: unfinished deliveries are what a receiver can still fetch, and an acknowledgement ends one. An
// outbox row of a polled stream is never claimed, because its endpoint is inactive; it goes with its delivery.
import { many } from '../../platform/database/statements.ts';
import type { Queryable } from '../../platform/database/transaction.ts';
import { endingStatement } from '../rows/delivery-row.ts';

/** A delivery that a receiver has not acknowledged, with the bytes of its event, at the database's time. */
export type WaitingDelivery = { readonly id: string; readonly body: Buffer; readonly readAt: Date };

/** A delivery that a receiver has refused. */
export type RefusedDelivery = { readonly id: string; readonly eventId: string; readonly eventType: string };

/** Reads the oldest deliveries that are not acknowledged, at most `limit`. */
export const waiting = many<WaitingDelivery, [streamId: string, limit: number]>(`
SELECT d.id, e.body, now()::timestamptz(3) AS read_at FROM (
  SELECT id, event_row FROM deliveries WHERE subscription_id = $1 AND status IN ('pending', 'retrying') ORDER BY id LIMIT $2
) AS d JOIN events e ON e.id = d.event_row ORDER BY d.id`);

// A delivery that was pushed before its stream was polled may have a workflow, which the command makes read the row.
const end = many<
  RefusedDelivery,
  [
    streamId: string,
    ids: readonly string[],
    status: 'delivered' | 'failed',
    errors: readonly (string | null)[],
  ]
>(
  endingStatement({
    target: `
  SELECT d.id, w.error FROM deliveries d JOIN unnest($2::uuid[], $4::text[]) AS w (id, error) ON w.id = d.id
  WHERE d.subscription_id = $1 AND d.id = ANY($2::uuid[]) AND d.status IN ('pending', 'retrying')
  ORDER BY d.id FOR UPDATE OF d`,
    status: '$3',
    more: ', last_error = t.error',
    answer: 'SELECT id, event_id, event_type FROM changed WHERE NOT test',
  }),
);

/** Ends acknowledged deliveries. Unknown and ended ids are left out. */
export async function acknowledge(unit: Queryable, streamId: string, ids: readonly string[]): Promise<void> {
  await end(unit, streamId, ids, 'delivered', []);
}

/** Ends refused deliveries. @returns those that were unfinished and are no tests */
export function refuse(
  unit: Queryable,
  streamId: string,
  refused: readonly { readonly id: string; readonly error: string }[],
): Promise<RefusedDelivery[]> {
  const errors = refused.map(({ error }) => error);
  return end(
    unit,
    streamId,
    refused.map(({ id }) => id),
    'failed',
    errors,
  );
}
