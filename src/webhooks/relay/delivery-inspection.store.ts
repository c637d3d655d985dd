// SQL that finds deliveries that no workflow and no relay will continue. It only reads.
import { NIL } from 'uuid';
import { countBreaches } from '../../platform/database/breach.ts';
import { many } from '../../platform/database/statements.ts';
import type { Queryable } from '../../platform/database/transaction.ts';
import { CROWDED, LEFT, OF_DELETED, TIMED, UNWOKEN } from '../rows/leftovers.ts';

/** An unfinished delivery whose workflow of this generation was started. */
export type StartedDelivery = {
  readonly id: string;
  readonly tenantId: string;
  readonly generation: number;
  readonly nextAttemptAt: Date | null;
  /** The endpoint accepts attempts now, so a relay should soon claim the delivery's work. */
  readonly endpointIsOpen: boolean;
};

const STARTED = `
SELECT d.id, d.tenant_id, d.generation, d.next_attempt_at, endpoint_is_open(p) AS endpoint_is_open
FROM deliveries d JOIN endpoints p ON p.subscription_id = d.subscription_id
WHERE d.status IN ('pending', 'retrying') AND d.started_generation IS NOT NULL AND d.started_generation = d.generation`;

// Both statements use the index of unfinished deliveries with a workflow, in the order of their next attempt.
const listTimed = many<StartedDelivery, [after: Date | '-infinity', afterId: string, limit: number]>(
  `${STARTED} AND (d.next_attempt_at, d.id) > ($1, $2::uuid) ORDER BY d.next_attempt_at, d.id LIMIT $3`,
);
const listUntimed = many<StartedDelivery, [afterId: string, limit: number]>(
  `${STARTED} AND d.next_attempt_at IS NULL AND d.id > $1::uuid ORDER BY d.id LIMIT $2`,
);

/** Reads all unfinished deliveries with a workflow in pages, first those with a time for their next attempt. */
export async function* listStarted(queryable: Queryable, limit: number): AsyncGenerator<StartedDelivery[]> {
  for (let after: StartedDelivery | undefined; ; ) {
    const time: Date | '-infinity' = after?.nextAttemptAt ?? '-infinity';
    const rows: StartedDelivery[] = await listTimed(queryable, time, after?.id ?? NIL, limit);
    if (rows.length > 0) yield rows;
    if (rows.length < limit) break;
    after = rows.at(-1);
  }
  for (let after: string = NIL; ; ) {
    const rows = await listUntimed(queryable, after, limit);
    if (rows.length > 0) yield rows;
    if (rows.length < limit) break;
    after = rows.at(-1)?.id ?? after;
  }
}

type Marked = { readonly id: string; readonly generation: number; readonly marked: boolean };

const findUnfinished = many<Marked, [ids: readonly string[], generations: readonly number[]]>(`
SELECT d.id, d.generation, d.started_generation IS NOT DISTINCT FROM asked.generation AS marked
FROM unnest($1::uuid[], $2::int[]) AS asked (id, generation)
JOIN deliveries d ON d.id = asked.id AND d.generation = asked.generation AND d.status IN ('pending', 'retrying')`);

/**
 * @returns the deliveries among these that are unfinished in this generation, so that their workflow may run; `marked`:
 *   the row notes that it was started
 */
export function listUnfinished(
  queryable: Queryable,
  deliveries: readonly { id: string; generation: number }[],
): Promise<Marked[]> {
  const generations = deliveries.map(({ generation }) => generation);
  return findUnfinished(
    queryable,
    deliveries.map(({ id }) => id),
    generations,
  );
}

/** Retries and cancellations that no relay has handed over. */
export const findStuckCommands = countBreaches(
  'created_at',
  `
FROM (
  SELECT created_at FROM outbox WHERE kind = 'command' AND claimed_by IS NULL
  UNION ALL SELECT created_at FROM outbox WHERE kind = 'command' AND claimed_by IS NOT NULL) AS commands`,
);

/** Claims, by the last beat of their relay. Living relays take over the claims of one that is gone. */
export const findDeadClaims = countBreaches(
  'coalesce(r.seen_at, o.created_at)',
  'FROM outbox o LEFT JOIN relays r ON r.instance = o.claimed_by WHERE o.claimed_by IS NOT NULL',
);

/** Unfinished deliveries of deleted subscriptions. */
export const findOfDeleted = countBreaches('p.updated_at', OF_DELETED);

/** Outbox rows of ended deliveries of deleted subscriptions. */
export const findLeft = countBreaches('p.updated_at', LEFT);

/** Deliveries of crowds, by the time when they are due. */
export const findCrowded = countBreaches('c.due_at', CROWDED);

/** Deliveries that wait for an open endpoint but have no row of the outbox that would wake them. */
export const findUnwoken = countBreaches('d.created_at', UNWOKEN);

/** Deliveries with a workflow, by the time of their next attempt. One under way counts until it is recorded. */
export const findOverdue = countBreaches('d.next_attempt_at', TIMED);
