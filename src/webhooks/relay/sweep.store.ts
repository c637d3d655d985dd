// SQL of the sweep, which repairs stuck deliveries. Each change checks its condition again, so it may run at any time.
// docs/decisions/0001-held-is-derived.md
import { NIL } from 'uuid';
import type { Database } from '../../platform/database/database.ts';
import { many, value } from '../../platform/database/statements.ts';
import type { Queryable } from '../../platform/database/transaction.ts';
import { endingStatement } from '../rows/delivery-row.ts';
import { OF_DELETED } from '../rows/leftovers.ts';

const LOCK = 5_402_117;

/** A started delivery whose next attempt has a time. */
export type OverdueDelivery = {
  readonly id: string;
  readonly generation: number;
  readonly nextAttemptAt: Date | null;
};

/** Runs `work` under the advisory lock. @returns undefined when another process holds the lock */
export async function exclusively<T>(
  database: Pick<Database, 'pool'>,
  work: () => Promise<T>,
): Promise<T | undefined> {
  const client = await database.pool.connect();
  let isSound = false;
  try {
    const { rows } = await client.query<{ locked: boolean }>('SELECT pg_try_advisory_lock($1) AS locked', [
      LOCK,
    ]);
    const locked = rows[0]?.locked === true;
    const result = locked ? await work() : undefined;
    if (locked) await client.query('SELECT pg_advisory_unlock($1)', [LOCK]);
    isSound = true;
    return result;
  } finally {
    // Closing an unsound connection releases the lock.
    client.release(!isSound);
  }
}

const listOverdue = many<
  OverdueDelivery,
  [lateMs: number, after: Date | '-infinity', afterId: string, limit: number]
>(`
SELECT d.id, d.generation, d.next_attempt_at FROM deliveries d
WHERE d.status IN ('pending', 'retrying') AND d.started_generation IS NOT NULL AND d.started_generation = d.generation
  AND d.next_attempt_at < now() - $1::float8 * interval '1 millisecond' AND (d.next_attempt_at, d.id) > ($2, $3::uuid)
ORDER BY d.next_attempt_at, d.id LIMIT $4`);

/** Lists started deliveries after `after` whose attempt is late by more than `lateMs`, the oldest first. */
export function overdue(
  queryable: Queryable,
  { lateMs, after, limit }: { lateMs: number; after: OverdueDelivery | undefined; limit: number },
): Promise<OverdueDelivery[]> {
  return listOverdue(queryable, lateMs, after?.nextAttemptAt ?? '-infinity', after?.id ?? NIL, limit);
}

/** Cancels unfinished deliveries of deleted subscriptions. @returns how many, at most `limit` */
export const cancelDeleted = value<number, [limit: number]>(
  endingStatement({
    target: `SELECT d.id ${OF_DELETED} LIMIT $1 FOR UPDATE OF d SKIP LOCKED`,
    answer: 'SELECT count(*)::int AS canceled FROM changed',
  }),
);
