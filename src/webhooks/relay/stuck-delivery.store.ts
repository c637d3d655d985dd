// SQL that mends stuck deliveries. Each change checks its condition again, so it may run at any time.
// docs/decisions/0001-held-is-derived.md
import { many, one } from '../../platform/database/statements.ts';
import { endingStatement } from '../rows/delivery-row.ts';
import { OF_DELETED, TIMED } from '../rows/leftovers.ts';

export type OverdueDelivery = {
  readonly id: string;
  readonly generation: number;
  readonly nextAttemptAt: Date | null;
};

type PageAfter = [lateSeconds: number, time: Date | string, id: string, limit: number];

/** Lists started deliveries after a place whose attempt is late by more than `lateSeconds`, the oldest first. */
export const listOverdue = many<OverdueDelivery, PageAfter>(`
SELECT d.id, d.generation, d.next_attempt_at ${TIMED}
  AND d.next_attempt_at < now() - $1::float8 * interval '1 second' AND (d.next_attempt_at, d.id) > ($2, $3::uuid)
ORDER BY d.next_attempt_at, d.id LIMIT $4`);

/** Cancels unfinished deliveries of deleted subscriptions: how many, at most `limit`. */
export const cancelDeleted = one<{ count: number }, [limit: number]>(
  endingStatement({
    target: `SELECT d.id ${OF_DELETED} LIMIT $1 FOR UPDATE OF d SKIP LOCKED`,
    answer: 'SELECT count(*)::int AS count FROM changed',
  }),
);
