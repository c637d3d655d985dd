// SQL with which the doctor finds deliveries that no workflow and no relay will continue. It only reads, page by page.
import { NIL } from 'uuid';
import { many, only } from '../../platform/database/statements.ts';
import type { Queryable } from '../../platform/database/transaction.ts';
import { LEFT, OF_DELETED, OVERDUE_CROWDS, UNWOKEN } from '../rows/leftovers.ts';

/** An unfinished delivery whose workflow of this generation was started. */
export type StartedDelivery = {
  readonly id: string;
  readonly tenantId: string;
  readonly generation: number;
  readonly nextAttemptAt: Date | null;
  /** The endpoint accepts attempts now, so a relay should soon claim the delivery's work. */
  readonly endpointIsOpen: boolean;
};

/** Overdue work: the number of rows, and the time of the oldest row. */
export type StuckWork = { readonly count: number; readonly oldest: Date | null };

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

const MOST = 100_000;

/** @param created the rows' time, read from a text of leftovers */
const counting = <Values extends readonly number[] = []>(created: string, of: string) =>
  only<StuckWork, Values>(`
SELECT count(*)::int AS count, min(created_at) AS oldest FROM (SELECT ${created} ${of} LIMIT ${MOST}) AS counted`);

const LONG_DELETED = "AND p.updated_at < now() - $1::float8 * interval '1 millisecond'";

/** Finds commands that no relay has handed over within `ageMs` milliseconds. */
export const findStuckCommands = only<StuckWork, [ageMs: number]>(`
SELECT count(*)::int AS count, min(created_at) AS oldest FROM outbox
WHERE kind = 'command' AND created_at < now() - $1::float8 * interval '1 millisecond'`);

/** Finds claims of relays without a beat for a minute. Living relays should have taken over these claims. */
export const findDeadClaims = only<StuckWork>(`
SELECT count(*)::int AS count, min(o.created_at) AS oldest FROM outbox o
WHERE o.claimed_by IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM relays r WHERE r.instance = o.claimed_by AND r.seen_at > now() - interval '1 minute')`);

/** Finds unfinished deliveries of subscriptions that were deleted more than `ageMs` milliseconds ago. */
export const findOfDeleted = counting<[ageMs: number]>('d.created_at', `${OF_DELETED} ${LONG_DELETED}`);

/** Finds outbox rows of ended deliveries of subscriptions that were deleted more than `ageMs` milliseconds ago. */
export const findLeft = counting<[ageMs: number]>('o.created_at', `${LEFT} ${LONG_DELETED}`);

/** Finds deliveries that have been due in their crowd for more than `ageMs` milliseconds. */
export const findCrowded = counting<[ageMs: number]>('c.due_at AS created_at', OVERDUE_CROWDS);

/** Finds deliveries that wait for an open endpoint but have no row of the outbox that would wake them. */
export const findParked = counting('d.created_at', UNWOKEN);
