// SQL with which the doctor finds deliveries that no workflow and no relay will continue. It only reads, page by page.
import { NIL } from 'uuid';
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
SELECT d.id, d.tenant_id AS "tenantId", d.generation, d.next_attempt_at AS "nextAttemptAt", endpoint_is_open(p) AS "endpointIsOpen"
FROM deliveries d JOIN endpoints p ON p.subscription_id = d.subscription_id
WHERE d.status IN ('pending', 'retrying') AND d.started_generation IS NOT NULL AND d.started_generation = d.generation`;

// Both statements use the index of unfinished deliveries with a workflow, in the order of their next attempt.
const TIMED = `${STARTED} AND (d.next_attempt_at, d.id) > ($1, $2::uuid) ORDER BY d.next_attempt_at, d.id LIMIT $3`;
const UNTIMED = `${STARTED} AND d.next_attempt_at IS NULL AND d.id > $1::uuid ORDER BY d.id LIMIT $2`;

const STUCK_COMMANDS = `
SELECT count(*)::int AS count, min(created_at) AS oldest FROM outbox
WHERE kind = 'command' AND created_at < now() - $1::float8 * interval '1 millisecond'`;

/** Claims of relays without a beat for a minute. Living relays should have taken over these claims. */
const DEAD_CLAIMS = `
SELECT count(*)::int AS count, min(o.created_at) AS oldest FROM outbox o
WHERE o.claimed_by IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM relays r WHERE r.instance = o.claimed_by AND r.seen_at > now() - interval '1 minute')`;

const MOST = 100_000;

/** @param created the rows' time, read from a text of leftovers */
const counted = (created: string, of: string) => `
SELECT count(*)::int AS count, min(created_at) AS oldest FROM (SELECT ${created} ${of} LIMIT ${MOST}) AS counted`;

const LONG_DELETED = "AND p.updated_at < now() - $1::float8 * interval '1 millisecond'";
const STUCK_OF_DELETED = counted('d.created_at', `${OF_DELETED} ${LONG_DELETED}`);
const STUCK_LEFT = counted('o.created_at', `${LEFT} ${LONG_DELETED}`);
const STUCK_CROWDS = counted('c.due_at AS created_at', OVERDUE_CROWDS);
const STUCK_UNWOKEN = counted('d.created_at', UNWOKEN);

const finder =
  <Values extends readonly number[]>(text: string) =>
  async (queryable: Queryable, ...values: Values): Promise<StuckWork> =>
    (await queryable.query<StuckWork>(text, values)).rows[0] ?? { count: 0, oldest: null };

/** Reads all unfinished deliveries with a workflow in pages, first those with a time for their next attempt. */
export async function* listStarted(queryable: Queryable, limit: number): AsyncGenerator<StartedDelivery[]> {
  for (let after: StartedDelivery | undefined; ; ) {
    const place = [after?.nextAttemptAt ?? '-infinity', after?.id ?? NIL, limit];
    const { rows } = await queryable.query<StartedDelivery>(TIMED, place);
    if (rows.length > 0) yield rows;
    if (rows.length < limit) break;
    after = rows.at(-1);
  }
  for (let after: string = NIL; ; ) {
    const { rows } = await queryable.query<StartedDelivery>(UNTIMED, [after, limit]);
    if (rows.length > 0) yield rows;
    if (rows.length < limit) break;
    after = rows.at(-1)?.id ?? after;
  }
}

/**
 * @returns the deliveries among these that are unfinished in this generation, so that their workflow may run; `marked`:
 *   the row notes that it was started
 */
export async function listUnfinished(
  queryable: Queryable,
  deliveries: readonly { id: string; generation: number }[],
): Promise<{ id: string; generation: number; marked: boolean }[]> {
  const { rows } = await queryable.query<{ id: string; generation: number; marked: boolean }>(
    `SELECT d.id, asked.generation, d.started_generation IS NOT DISTINCT FROM asked.generation AS marked
         FROM unnest($1::uuid[], $2::int[]) AS asked (id, generation)
         JOIN deliveries d ON d.id = asked.id AND d.generation = asked.generation AND d.status IN ('pending', 'retrying')`,
    [deliveries.map(({ id }) => id), deliveries.map(({ generation }) => generation)],
  );
  return rows;
}

/** Finds commands that no relay has handed over within `ageMs` milliseconds. */
export const findStuckCommands = finder<[ageMs: number]>(STUCK_COMMANDS);

export const findDeadClaims = finder<[]>(DEAD_CLAIMS);

/** Finds unfinished deliveries of subscriptions that were deleted more than `ageMs` milliseconds ago. */
export const findOfDeleted = finder<[ageMs: number]>(STUCK_OF_DELETED);

/** Finds outbox rows of ended deliveries of subscriptions that were deleted more than `ageMs` milliseconds ago. */
export const findLeft = finder<[ageMs: number]>(STUCK_LEFT);

/** Finds deliveries that have been due in their crowd for more than `ageMs` milliseconds. */
export const findCrowded = finder<[ageMs: number]>(STUCK_CROWDS);

/** Finds deliveries that wait for an open endpoint but have no row of the outbox that would wake them. */
export const findParked = finder<[]>(STUCK_UNWOKEN);
