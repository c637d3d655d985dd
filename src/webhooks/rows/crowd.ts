// The crowd of an endpoint: its deliveries that wait for an early retry and have no workflow of their own. The texts by
// which statements let them leave. Pure.
import { enqueue, RANK_OF_RETRY } from './outbox.ts';

/** In milliseconds. Retries that are due within it are released together, at its end. */
const BUCKET = 250;

/** @returns when the retries that are due at this time are released: never before it */
export function roundDue(due: Date): number {
  return Math.ceil(due.getTime() / BUCKET) * BUCKET;
}

/** Takes deliveries out of their crowd. @param from has the `id` of the deliveries */
export const leaveCrowd = (from: string) => `
DELETE FROM crowded_deliveries c USING ${from} l WHERE c.delivery_id = l.id RETURNING c.delivery_id AS id`;

/**
 * Enqueues the attempts of deliveries that have left their crowd. The row has the delivery's id, as that of each
 * attempt without a workflow.
 */
export const attemptCrowded = (
  from: string,
) => `${enqueue({ id: 'id', kind: `'first'`, rank: RANK_OF_RETRY, from })}
ON CONFLICT (id) DO NOTHING`;
