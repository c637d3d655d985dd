// SQL that replays many ended deliveries. Each replay is a new generation, like the replay of a single delivery.
import { newId } from '../../platform/database/ids.ts';
import type { Queryable } from '../../platform/database/transaction.ts';
import { beginAgain } from '../rows/delivery-row.ts';
import { enqueue } from '../rows/outbox.ts';
import type { ReplayableStatus } from './bulk-replay.ts';

/** Ended deliveries of one subscription, created from `since` to before `until`, that had `status` by `endedBy`. */
export type ReplayRange = {
  readonly tenantId: string;
  readonly subscriptionId: string;
  readonly status: ReplayableStatus;
  readonly since: Date;
  readonly until: Date;
  readonly endedBy: Date;
};

/** Widens a range of ids, because their time comes from an api process but `created_at` from the database. */
const CLOCK_SKEW = "interval '1 hour'";

/** The status is literal text, because the planner then uses the partial indexes. */
const inRange = (status: ReplayableStatus) => `
d.tenant_id = $1 AND d.subscription_id = $2 AND d.status = '${status}' AND d.completed_at <= $3
  AND d.created_at >= $4 AND d.created_at < $5
  AND d.id >= uuid_of_time(greatest($4::timestamptz - ${CLOCK_SKEW}, 'epoch')) AND d.id < uuid_of_time($5::timestamptz + ${CLOCK_SKEW})`;

// Deliveries are locked in id order, to prevent deadlocks. The rows of the outbox keep that order.
const replayStatement = (status: ReplayableStatus) => `
WITH target AS (
  SELECT d.id, true AS ended FROM deliveries d WHERE ${inRange(status)} AND d.id > $6 ORDER BY d.id LIMIT $7 FOR UPDATE
), changed AS (
  ${beginAgain('target')}
), numbered AS (
  SELECT changed.*, row_number() OVER (ORDER BY id)::int AS place FROM changed
), work AS (${enqueue({ id: '($8::uuid[])[place]', kind: `'start'`, rank: '2', from: 'numbered' })}
), part AS (
  INSERT INTO bulk_replay_parts (replay_id, first, last, deliveries)
  SELECT $9, ids[1], ids[cardinality(ids)], ids FROM (SELECT array_agg(id ORDER BY id) AS ids FROM changed) AS c WHERE ids IS NOT NULL
)
SELECT count(*)::int AS replayed, (array_agg(id ORDER BY id DESC))[1] AS last FROM changed`;

const WAITING = `
SELECT count(*)::int AS waiting FROM (
  SELECT 1 FROM outbox WHERE tenant_id = $1 AND endpoint = $2 AND rank = 2 AND claimed_by IS NULL AND kind <> 'command' LIMIT $3) AS rows`;

const valuesOf = ({ tenantId, subscriptionId, since, until, endedBy }: ReplayRange) => [
  tenantId,
  subscriptionId,
  endedBy,
  since,
  until,
];

/** Counts the deliveries that are in the range now. */
export async function count(queryable: Queryable, range: ReplayRange): Promise<number> {
  const { rows } = await queryable.query<{ matched: number }>(
    `SELECT count(*)::int AS matched FROM deliveries d WHERE ${inRange(range.status)}`,
    valuesOf(range),
  );
  return rows[0]?.matched ?? 0;
}

/**
 * Replays the next deliveries of the range, the oldest first: attempt numbers go on, the schedule starts again. A
 * delivery that was replayed after `endedBy` is no longer in the range.
 * @param options.id of the bulk replay @param options.after id of the last delivery that was handled
 * @returns how many were replayed and the id of the last; fewer than `limit` means that the range is done
 */
export async function replay(
  unit: Queryable,
  range: ReplayRange,
  { id, after, limit }: { id: string; after: string; limit: number },
): Promise<{ replayed: number; last: string | null }> {
  const ids = Array.from({ length: limit }, newId);
  const { rows } = await unit.query<{ replayed: number; last: string | null }>(
    replayStatement(range.status),
    [...valuesOf(range), after, limit, ids, id],
  );
  return rows[0] ?? { replayed: 0, last: null };
}

/** Counts the subscription's replays that no relay has claimed yet, up to `atMost`. */
export async function waiting(
  queryable: Queryable,
  { tenantId, subscriptionId }: Pick<ReplayRange, 'tenantId' | 'subscriptionId'>,
  atMost: number,
): Promise<number> {
  const { rows } = await queryable.query<{ waiting: number }>(WAITING, [tenantId, subscriptionId, atMost]);
  return rows[0]?.waiting ?? 0;
}
